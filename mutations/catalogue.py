"""The families as data: their origin, what grounds them, their variants, and which policy is expected to see each.

`Y` expected to be rejected, `p` only in some parents, `-` expected to be missed. These are predictions, made before any
detector ran on a fork that counts; SPEC.md says on what they rest. Columns, in this order: terminal, event_log,
milestones, causal, causal_declared, witness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sealkit.wire.episode import Trusted
from sealkit.wire.verdict import Origin
from sealkit.world.draws import Draws

from . import documented, misses, numbered
from .executor import Edits
from .parent import Parent

POLICIES = ("terminal", "event_log", "milestones", "causal", "causal_declared", "witness")
Expected: TypeAlias = Literal["Y", "p", "-"]
Maker: TypeAlias = Callable[[Parent, str, Draws], Edits | tuple[Edits, Trusted]]


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant: `truth`, `repeats` or, of a control, `only`. `origin` is the first faulty one in causal order."""

    name: str
    origin: Origin
    expected: Mapping[str, Expected]
    why: str = ""  # why a policy is expected to miss it, where that is not plain from its view


@dataclass(frozen=True, slots=True)
class Family:
    """One family; `rows` are those of the grounding table in SPEC.md."""

    id: str
    says: str
    held: str
    rows: tuple[int, ...]
    make: Maker
    variants: tuple[Variant, ...]


def _seen(letters: str) -> Mapping[str, Expected]:
    known: dict[str, Expected] = {"Y": "Y", "p": "p", "-": "-"}
    return {name: known[letter] for name, letter in zip(POLICIES, letters.split(), strict=True)}


def _v(name: str, origin: Origin, letters: str, why: str = "") -> Variant:
    return Variant(name, origin, _seen(letters), why)


FAMILIES: Mapping[str, Family] = {
    family.id: family
    for family in (
        Family("M1", "event logged, root unchanged", "event id, projection, terminal bytes", (), numbered.m1, (
            _v("truth", "environment", "- - - Y Y Y"),
            _v("repeats", "boundary", "- - - Y Y Y"))),
        Family("M2", "right change, altered message", "transition, boundary", (), numbered.m2, (
            _v("truth", "disclosure", "- - - - - Y"),
            _v("repeats", "disclosure", "- - - - - Y"))),
        Family("M3", "right message, altered authority", "text, transition", (), numbered.m3, (
            _v("truth", "authority", "- - - - - Y"),
            _v("repeats", "authority", "- - - - - Y"))),
        Family("M4", "duplicated after a restore", "terminal state", (), numbered.m4, (
            _v("truth", "lineage", "- Y Y Y Y Y"),
            _v("repeats", "lineage", "- Y Y Y Y Y"))),
        Family("M5", "missing after a restore", "snapshot identity, declared event", (), numbered.m5, (
            _v("truth", "lineage", "- p - Y Y Y"),
            _v("repeats", "evidence", "- p - Y Y Y"))),
        Family("M6", "previous link broken", "occurrence bodies", (), numbered.m6, (
            _v("truth", "lineage", "- - - - - Y"),
            _v("repeats", "lineage", "- - - - - Y"))),
        Family("M7", "invalid intermediate state, repaired", "final root", (), numbered.m7, (
            _v("truth", "environment", "- - - Y Y Y"),
            _v("repeats", "environment", "- - - Y Y Y"))),
        Family("M8", "applied at the wrong act", "event, final state", (), numbered.m8, (
            _v("truth", "boundary", "- - - - Y Y"),
            _v("repeats", "boundary", "- - - - Y Y"))),
        Family("F1", "omitted", "log, notice", (1, 2, 3, 4), documented.f1, (
            _v("truth", "environment", "- - - - Y Y"),
            _v("repeats", "environment", "- - - Y Y Y"))),
        Family("F2", "repeated", "the first application", (5, 6, 7, 8), documented.f2, (
            _v("truth", "environment", "- Y Y Y Y Y"),
            _v("repeats", "environment", "- - - Y Y Y"))),
        Family("F3", "misbound: another value, or a part", "boundary, notice", (9, 10, 11, 12), documented.f3, (
            _v("truth", "environment", "- - - - Y Y"),
            _v("repeats", "environment", "- - - Y Y Y"))),
        Family("F4", "shifted by one or two acts", "effect", (13, 14, 15, 16, 17, 18, 21), documented.f4, (
            _v("truth", "boundary", "- - - - Y Y"),
            _v("repeats", "boundary", "- - - Y Y Y"))),
        Family("F5", "inside an act, between its read and its write", "act number, states", (4, 19, 20),
               documented.f5, (
            _v("truth", "boundary", "- - - Y Y -", "the witness binds act numbers, and no order within an act"),
            _v("repeats", "disclosure", "- - - - Y Y"))),
        Family("F6", "silent: no notice of a change", "transition", (17, 22, 23), documented.f6, (
            _v("truth", "disclosure", "- - - - - Y"),
            _v("repeats", "disclosure", "- - - - - Y"))),
        Family("F7", "phantom: told before it was so", "transition", (7, 24, 25, 26), documented.f7, (
            _v("truth", "disclosure", "- Y - - - Y"),
            _v("repeats", "disclosure", "- Y - - - Y"))),
        Family("F8", "distorted: cut, doubled, stale", "transition", (27, 28, 29, 30, 31), documented.f8, (
            _v("truth", "disclosure", "- p - - p Y"),
            _v("repeats", "disclosure", "- - - - p Y"))),
        Family("F9", "laundered: more say than its sender has", "text, transition", (32, 33, 34, 35, 36, 37),
               documented.f9, (
            _v("truth", "authority", "- - - - - Y"),
            _v("repeats", "authority", "- - - - - Y"))),
        Family("F10", "restored or started with a residue", "acts, events", (38, 39, 40, 41, 42), documented.f10, (
            _v("truth", "lineage", "- - - Y Y Y"),
            _v("repeats", "lineage", "- - - Y Y Y"))),
        Family("F11", "undeclared act skipped or doubled", "events, boundaries", (43, 44, 45, 46, 3, 6),
               documented.f11, (
            _v("truth", "lineage", "- - - Y Y -", "nothing declared is touched; the executor's own steps show it"),
            _v("repeats", "lineage", "- - - p p p", "an effect left out stays inside the footprint"))),
        Family("F12", "judge given an earlier state or trace", "everything before the closing",
               (48, 49, 50, 51, 52, 53), documented.f12, (
            _v("truth", "judgment", "- - - Y Y Y"),
            _v("repeats", "judgment", "- - - - - Y"))),
        Family("F13a", "tail cut behind the last occurrence", "everything before the cut", (59, 60, 61, 62, 64),
               documented.f13a, (
            _v("truth", "evidence", "- - - - - -", "whatever says how long the record should be was cut with it"),
            _v("repeats", "evidence", "- - - - Y Y"))),
        Family("F13b", "filed under another slot", "acts, states", (55, 56, 57, 58, 63), documented.f13b, (
            _v("truth", "evidence", "Y Y Y Y Y Y"),
            _v("repeats", "evidence", "- - - - - Y"))),
        Family("X1", "control: a consistent lie of who owns the root", "all equalities", (47, 48, 53, 54),
               misses.x1, (
            _v("only", "environment", "- - - - - -", "contract, effect and digests agree"),)),
        Family("X3", "control: a residue outside the root", "root, events", (38, 42), misses.x3, (
            _v("only", "lineage", "- - - - - -", "free text is not material"),)),
        Family("X4", "control: delivered, never read", "returns", (22,), misses.x4, (
            _v("only", "disclosure", "- - - - - -", "the record ends at the adapter"),)),
    )
}  # fmt: skip
NUMBERED = tuple(id for id in FAMILIES if id.startswith("M"))
CONTROLS = tuple(id for id in FAMILIES if id.startswith("X"))
