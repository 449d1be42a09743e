"""One clause of a contract, and whether it is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from sealkit.wire.errors import SealkitError
from sealkit.wire.verdict import Rejected, Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """One clause; `detail` says what was examined, or what broke it and what to do."""

    clause: str
    kept: bool
    detail: str


class Broken(Exception):
    """A clause is not kept; the text says how."""


def spell_verdict(verdict: Verdict) -> str:
    """A verdict in words."""
    if isinstance(verdict, Rejected):
        return "; ".join(str(reason) for reason in verdict.reasons[:3])
    return f"{type(verdict).__name__.lower()} {getattr(verdict, 'missing', '')}{getattr(verdict, 'message', '')}"


def examine(clause: str, examination: Callable[[], str]) -> Finding:
    """Carry out one examination: it returns what it looked at, or raises."""
    try:
        return Finding(clause, True, examination())
    except (Broken, SealkitError) as error:
        return Finding(clause, False, str(error))
    except Exception as error:  # the code under examination may raise anything; that breaks the clause
        return Finding(clause, False, f"raised {type(error).__name__}: {error}")


def examine_all(
    clauses: Iterator[tuple[str, Callable[[], str]]], *, foundations: Collection[str]
) -> tuple[Finding, ...]:
    """Examine clause after clause; one of the `foundations`, on which the rest stands, that fails ends the list."""
    findings: list[Finding] = []
    for clause, examination in clauses:
        findings.append(examine(clause, examination))
        if clause in foundations and not findings[-1].kept:
            break
    return tuple(findings)
