"""Runs a sealed arm again from the recorded replies, and compares what it does with what the episode says it did.

A verifier replays the world from the actions that an episode holds. This asks where they came from: with these replies,
does the sealed arm act so, and keep that in its memory? So an action or a memory that no reply led to is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.errors import WithheldError
from sealkit.agents.models.secrets import Watch
from sealkit.plan.actors import CommandArm, ExternalArm, ScriptedArm
from sealkit.seal.history import spell_slot
from sealkit.verify.sandbox import BrokenOffError
from sealkit.verify.under_pin import UnderPin
from sealkit.wire.attempts import Calls, answered
from sealkit.wire.canon import decode_record, encode_record, encode_value
from sealkit.wire.episode import Act, Episode, Trusted
from sealkit.wire.errors import HarnessError, MalformedError, UntrustedError
from sealkit.wire.events import Failed
from sealkit.wire.verdict import Abstained, Errored, Reason, Rejected, Verdict

MOST_BODIES: Final = 64 * 1024 * 1024  # of one episode


@dataclass(slots=True)
class ArmReruns:
    """How many episodes were run again from their replies, and how many could not be: why, in a word."""

    same: int = 0
    withheld: int = 0
    programs: int = 0

    def check(self, under: UnderPin, trusted: Trusted, line: bytes, calls: Calls, bodies: Blobs) -> Verdict | None:
        """What speaks against the episode; None if nothing does, or if it cannot be run again here."""
        arm = under.pinned.plan.spec.factors.arm.get(str(trusted.slot["arm"]))
        if arm is None or isinstance(arm, ScriptedArm | ExternalArm):
            return None
        if isinstance(arm, CommandArm):
            self.programs += 1
            return None
        try:
            again = _again(under, trusted, calls, bodies)
        except WithheldError:
            self.withheld += 1
            return None
        except BrokenOffError:
            raise
        except HarnessError as error:
            return Errored(message=str(error))
        if again is None:
            return Abstained(missing=f"replies of at most {MOST_BODIES} bytes in one episode")
        if again == line:
            self.same += 1
            return None
        return Rejected(reasons=(_difference(line, again),))

    def check_failure(self, under: UnderPin, trusted: Trusted, event: Failed, calls: Calls, bodies: Blobs) -> None:
        """Raise `UntrustedError` if the replies of an attempt that is said to have broken lead to a whole episode."""
        arm = under.pinned.plan.spec.factors.arm.get(str(trusted.slot["arm"]))
        if not answered(calls[-1:]) or isinstance(arm, CommandArm):
            return
        try:
            again = _again(under, trusted, calls, bodies)
        except BrokenOffError:
            raise
        except HarnessError:  # it breaks again, or a body is withheld
            return
        if isinstance(again, bytes) and not Watch(()).found_in(again):  # an episode that holds a key is not kept
            what = f"evidence: recorded as {event.ending}, and with its replies the sealed arm leaves an episode"
            raise UntrustedError(what, where=spell_slot(event.slot), remedy="a reply that came is never drawn again")


def _again(under: UnderPin, trusted: Trusted, calls: Calls, bodies: Blobs) -> bytes | str | None:
    """What the sealed arm leaves with these replies; a sentence if it asks others, None if they are too large."""
    replies = [bodies.get(call.response or "") for call in answered(calls)]
    if sum(map(len, replies)) > MOST_BODIES:
        return None
    return under.sandbox.rerun_arm(trusted, under.pinned.plan.data, tuple(map(encode_record, calls)), replies)


def _difference(line: bytes, again: bytes | str) -> Reason:
    due = "what the sealed arm does with the recorded replies"
    if isinstance(again, str):
        return Reason(origin="evidence", where="calls", found=again, due=due)
    try:
        found, made = (decode_record(each, Episode) for each in (line, again))
    except MalformedError as error:
        return Reason(origin="evidence", where="episode", found=str(error), due="one canonical line")
    for act, other in zip(found.acts, made.acts, strict=False):
        for name in ("action", "memory", "calls"):
            if _plain(act, name) != _plain(other, name):
                return Reason(
                    origin="evidence", where=f"acts[{act.n}].{name}", found=_plain(act, name)[:200],
                    due=f"{_plain(other, name)[:200]}, {due}",
                )  # fmt: skip
    if len(found.acts) != len(made.acts):
        acts = f"{len(found.acts) - 1} acts"
        return Reason(origin="evidence", where="acts", found=acts, due=f"{len(made.acts) - 1}, {due}")
    return Reason(origin="evidence", where="episode", found="other bytes", due=due)


def _plain(act: Act, name: str) -> str:
    """One member of an act, spelled as its record spells it."""
    return encode_value(msgspec.to_builtins(getattr(act, name))).decode()
