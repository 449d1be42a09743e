"""The contract of a verifier: data in, a verdict out, never an exception, never an accepted ruin."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from sealkit.verify.conformance.finding import Broken, Finding, examine_all, spell_verdict
from sealkit.verify.conformance.of_policies import policy_clauses
from sealkit.verify.conformance.trial import trial_episode, trial_records, trial_slots
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Move, Trusted
from sealkit.wire.verdict import Abstained, Accepted, Errored, Rejected
from sealkit.world.loader import Check, LoadedWorld, asks_for_rerun, load_policies, load_verifier, load_world
from sealkit.world.witness import open_scenario, rerun

IMPORTS = ("sealkit.wire", "msgspec", "orjson")
PURE = (
    "__future__", "collections", "dataclasses", "decimal", "enum", "fractions", "functools", "hashlib", "itertools",
    "json", "math", "re", "typing",
)  # fmt: skip


def examine_verifier(root: Path, name: str) -> tuple[Finding, ...]:
    """One finding for each clause that the verifier in `root/verifiers/name` must keep.

    Its trial episodes are those of every world in `root/worlds`; if it abstains on all of them, records that an
    external world could have given.
    """
    return examine_all(_clauses(root, name), foundations=("loads",))


def _clauses(root: Path, name: str) -> Iterator[tuple[str, Callable[[], str]]]:
    folder = root / "verifiers" / name
    loaded: list[Check] = []
    corpus: list[tuple[Trusted, bytes]] = []

    def loads() -> str:
        worlds = {}
        for source in sorted((root / "worlds").glob("*/world.py")):
            name = source.parent.name
            world = worlds[name] = load_world(root, name)
            corpus.extend((trusted, trial_episode(world, trusted)) for trusted in trial_slots(world))
        if not corpus:
            raise Broken("no world with scripted agents stands in worlds/: nothing to try it on")
        check = load_verifier(folder)
        loaded.append(partial(check, rerun=_rerun_in(worlds)) if asks_for_rerun(check) else check)
        if _abstains(loaded[0], corpus):
            corpus[:] = trial_records()  # perhaps it reads what external worlds say
            return f"{len(corpus)} trial records"
        return f"{len(corpus)} trial episodes"

    yield "loads", loads
    check = loaded[0]
    yield "has a SPEC.md", lambda: _spec(folder)
    yield "imports sealkit.wire and pure modules only", lambda: _imports(folder)
    yield "rejects no faithful episode", lambda: _faithful(check, corpus)
    yield "answers the same twice", lambda: _same(check, corpus)
    yield "answers ruined bytes with a rejection", lambda: _ruined(check, corpus)
    yield "binds an episode to its slot, pin and scenario", lambda: _bound(check, corpus)
    policies = load_policies(folder)
    if policies:
        yield from policy_clauses(folder, policies, corpus)


def _abstains(check: Check, corpus: list[tuple[Trusted, bytes]]) -> bool:
    """Whether it answers all of these with an abstention; one that raises is for a later clause to tell."""
    with suppress(Exception):
        return all(isinstance(check(trusted, line), Abstained) for trusted, line in corpus)
    return False


def _rerun_in(worlds: Mapping[str, LoadedWorld]) -> Callable[..., bytes]:
    """What a verifier is handed that lets the world act again."""

    def run_again(trusted: Trusted, moves: tuple[Move, ...], ended: str, why: str) -> bytes:
        scenario = open_scenario(trusted.scenario)
        return rerun(worlds[scenario.world].session(scenario), trusted, moves, ended=ended, why=why)

    return run_again


def _spec(folder: Path) -> str:
    if not (folder / "SPEC.md").is_file():
        raise Broken(f"verifiers/{folder.name}/SPEC.md is missing; say which equality blames which origin")
    return "SPEC.md"


def _imports(folder: Path) -> str:
    files = sorted(folder.rglob("*.py"))
    for file in files:
        for node in ast.walk(ast.parse(file.read_bytes())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for module in names:
                if not module.startswith(IMPORTS) and module.split(".")[0] not in PURE:
                    raise Broken(f"{file.name} imports {module}: a verifier sees bytes, not files, clocks or worlds")
    return f"{len(files)} files"


def _faithful(check: Check, corpus: list[tuple[Trusted, bytes]]) -> str:
    abstained = 0
    for trusted, line in corpus:
        verdict = check(trusted, line)
        if isinstance(verdict, Abstained):
            abstained += 1
        elif not isinstance(verdict, Accepted):
            raise Broken(f"slot {trusted.slot}: {spell_verdict(verdict)}")
    return f"{len(corpus) - abstained} accepted, {abstained} abstained"


def _same(check: Check, corpus: list[tuple[Trusted, bytes]]) -> str:
    for trusted, line in corpus[:20]:
        if check(trusted, line) != check(trusted, line):
            raise Broken(f"slot {trusted.slot}: asked twice, it gave two verdicts")
    return f"{len(corpus[:20])} episodes asked twice"


def _ruined(check: Check, corpus: list[tuple[Trusted, bytes]]) -> str:
    trusted, line = corpus[0]
    ruins = [b"", b"{}", b"[]", b"null", b"\xff\xfe", line + b" ", line + b"\n{}", b"[" * 5000, b'{"a":1,"a":1}']
    ruins += [line[:cut] for cut in range(0, len(line), max(1, len(line) // 50))]
    ruins += [line.replace(b":0,", b":0.0,", 1), line.replace(b":0,", b":NaN,", 1), b'{"type":"sealkit/root/v1"}']
    for ruin in ruins:
        try:
            verdict = check(trusted, ruin)
        except Exception as error:  # whatever it raises, it did not answer
            raise Broken(f"{ruin[:40]!r}… raised {type(error).__name__}: {error}") from error
        if not isinstance(verdict, (Rejected, Abstained)):
            raise Broken(f"{ruin[:40]!r}… was answered with {type(verdict).__name__}")
    return f"{len(ruins)} ruined lines"


def _bound(check: Check, corpus: list[tuple[Trusted, bytes]]) -> str:
    (trusted, line), (other, _) = corpus[0], corpus[-1]
    wrong = {
        "pin": Trusted(digest_bytes(b"another pin"), trusted.judge, trusted.slot, trusted.scenario),
        "slot": Trusted(trusted.pin, trusted.judge, {**trusted.slot, "arm": "nobody"}, trusted.scenario),
        "scenario": Trusted(trusted.pin, trusted.judge, trusted.slot, other.scenario),
    }
    for name, instead in wrong.items():
        verdict = check(instead, line)
        if isinstance(verdict, (Accepted, Errored)):
            raise Broken(f"an episode of another {name} was answered with {type(verdict).__name__}")
    return ", ".join(wrong)
