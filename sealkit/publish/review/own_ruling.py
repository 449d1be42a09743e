"""What this sealkit comes to where the sealed one is another: the same sealed files, run and ruled by this code.

A study brings along the sealkit that it was sealed with. That its results follow from that code is worth as much as
that code: one that lies derives its lies again. So where a pin's sealkit is not the one that is running, this one

    replays     every episode that counts, with the sealed world, arms and verifiers (`Study.own_under`)
    measures    it with the sealed judge
    rules       by its own analysis (`publish.ruled_twice`)

in child processes with its own `verify.child`, and says where it comes to something else. Files of the study are as
sealed either way. Where it cannot run or rule on them, because they ask for another sealkit, that is said; nothing of
the kind can be told from a study that was made so on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from sealkit.infer.admit import Admission, admit
from sealkit.infer.cells import Cells
from sealkit.publish.review.outcomes import Measured, Outcomes, measured
from sealkit.seal.history import spell_slot
from sealkit.verify.arms import ArmReruns
from sealkit.verify.study import Checked, Study
from sealkit.wire.canon import encode_value
from sealkit.wire.errors import SealkitError
from sealkit.wire.events import Failed
from sealkit.wire.records import Json

MOST_NAMED: Final = 3


@dataclass(slots=True)
class Differences:
    """What differs, of so many that were compared: the first few by name, with both sides."""

    what: str
    compared: int = 0
    count: int = 0
    named: list[str] = field(default_factory=list)

    def add(self, name: str, sealed: object, own: object) -> None:
        """One more."""
        self.count += 1
        if len(self.named) < MOST_NAMED:
            self.named.append(f"{name}: sealed: {sealed}; this sealkit: {own}")

    def line(self, *, named: bool) -> str:
        """In words; without names where nobody has looked at outcomes yet."""
        more = f"; and {self.count - len(self.named)} more" if self.count > len(self.named) else ""
        words = f": {'; '.join(self.named)}{more}" if named else ""
        return f"this sealkit rules otherwise than the sealed one: {self.count} of {self.compared} {self.what}{words}"


class OwnRuling:
    """Told of every episode that counts, as the sealed sealkit ruled on it; `unable` says why this one cannot."""

    def __init__(self, study: Study) -> None:
        spec = study.sealed.plan.spec
        self.cells = Cells(spec)
        self.unable = ""
        self.admissions, self.measures = Differences("admissions"), Differences("measured episodes")
        self._study = study
        self._outcomes = Outcomes(study.latest, self.cells, spec)
        self._reruns = ArmReruns()

    @property
    def why_not(self) -> str:
        """Why this sealkit cannot rule on the study; empty if it can."""
        return self.unable or self._study.unable

    def take(self, checked: Checked, admission: Admission, found: Measured, pin: int) -> None:
        """An episode that counts, as it was admitted and measured by the sealed sealkit."""
        if self.why_not:
            return
        try:
            own = self._admission(checked, admission)
            ruled = self._measured(checked, own, found)
            if not self.why_not:
                self._compare(checked, admission, own, found, self._outcomes.take(checked, ruled, pin))
        except SealkitError as error:
            self.unable = str(error)

    def fail(self, event: Failed, pin: int) -> None:
        """A slot without an episode, which is the same to everybody."""
        self._outcomes.fail(event, pin)

    def _admission(self, checked: Checked, admission: Admission) -> Admission:
        twin = self._study.own_under(checked.trusted.pin)
        if twin is None:
            return admission
        verdicts = {name: verdict for name, verdict in checked.verdicts.items() if name != "arm"}
        verdicts |= twin.check(checked.trusted, checked.line)
        if "calls" not in verdicts:
            bodies = self._study.calls.bodies
            again = self._reruns.check(twin, checked.trusted, checked.line, checked.calls, bodies)
            verdicts |= {"arm": again} if again is not None else {}
        return admit(verdicts)

    def _measured(self, checked: Checked, own: Admission, found: Measured) -> Measured:
        twin = self._study.own_under(self._study.sealed.latest.pin)
        if twin is None and not isinstance(found, Admission):
            return found if own.status == "admitted" else own
        return measured(twin or self._study.latest, checked, own)

    def _compare(
        self, checked: Checked, admission: Admission, own: Admission, found: Measured, ruled: Measured
    ) -> None:
        """Note what differs. What failed here alone is no difference: this sealkit could not rule on it."""
        slot = spell_slot(checked.slot)
        self.admissions.compared += 1
        errored = next((one for one in (own, ruled) if isinstance(one, Admission) and one.status == "errored"), None)
        sealed = found if isinstance(found, Admission) else admission
        if errored is not None and sealed.status != "errored":
            self.unable = f"{slot}: {errored.why}"
            return
        mine = ruled if isinstance(ruled, Admission) else own
        if (sealed.status, sealed.origin) != (mine.status, mine.origin):
            self.admissions.add(slot, _in_words(sealed), _in_words(mine))
        if isinstance(found, Admission) or isinstance(ruled, Admission):
            return
        self.measures.compared += 1
        unlike = [name for name in sorted(found.keys() | ruled.keys()) if found.get(name) != ruled.get(name)]
        if unlike:
            first = unlike[0]
            self.measures.add(f"{slot}: {first}", _spelled(found.get(first)), _spelled(ruled.get(first)))


def _in_words(admission: Admission) -> str:
    return admission.status + (f" ({admission.origin})" if admission.origin else "")


def _spelled(value: Json) -> str:
    return encode_value(value).decode()[:80]
