"""Replay: does the sealed world, given these actions again, write these bytes? See SPEC.md.

A verifier cannot import a world. Whoever loads this one hands in `rerun`, which runs the sealed source
elsewhere and returns the episode that an honest world writes for the same actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sealkit.wire.canon import decode_record
from sealkit.wire.episode import Action, Episode, Move, Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.trace import BEGIN, bare
from sealkit.wire.verdict import ORIGINS, Abstained, Accepted, Reason, Rejected, Verdict

from .difference import first_difference

Moves: TypeAlias = tuple[Move, ...]  # act 1 first
Rerun: TypeAlias = Callable[[Trusted, Moves, str, str], bytes]  # trusted, moves, ended, why → the honest line


def check(trusted: Trusted, episode: bytes, *, rerun: Rerun | None) -> Verdict:
    """Accepted if the honest world writes the same bytes; else Rejected with the first difference's origin."""
    if rerun is None:
        return Abstained(missing="the sealed world: give --replay")
    try:
        found = decode_record(episode, Episode, where="episode")
    except MalformedError as error:
        return _rejected(Reason(origin="evidence", where="episode", found=str(error), due="one canonical line"))
    if not found.acts or found.acts[0].action != BEGIN:
        return _rejected(Reason(origin="evidence", where="acts", found="no act 0 called begin", due="begin"))
    closing = found.closing
    moves = tuple(Move(action=act.action, calls=act.calls, memory=act.memory) for act in found.acts[1:])
    honest = rerun(trusted, moves, closing.ended, closing.why)
    if honest == episode:
        return Accepted()

    def again(actions: tuple[Action, ...]) -> Episode:
        line = rerun(trusted, tuple(bare(action) for action in actions), closing.ended, closing.why)
        return decode_record(line, Episode, where="the episode run again")

    due = decode_record(honest, Episode, where="the episode run again")
    return _rejected(*first_difference(trusted, found, due, again))


def _rejected(*reasons: Reason) -> Rejected:
    return Rejected(reasons=tuple(sorted(reasons, key=lambda reason: ORIGINS.index(reason.origin))))
