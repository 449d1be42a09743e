"""Takes the readings that a plan asks of models: one question each, of every episode that the stage has kept.

Whoever reads is shown the briefing and the acts, without slot, arm, family and pin. The judge's own code makes the
question and reads the reply; both are sealed, and here they come from the working tree, which was checked for drift.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sealkit.agents.turns import Ask
from sealkit.plan.readings import Taken, readings_asked
from sealkit.run.bench import Bench
from sealkit.run.calling import Calling
from sealkit.run.loop import Desk, Loop, Try
from sealkit.run.outcome import Broke, Kept, Said
from sealkit.run.progress import Standing
from sealkit.run.reads import OneReading, Shelved, episode_line
from sealkit.wire.canon import decode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Episode
from sealkit.wire.events import Asked, Heard, Read, Slot, call_lines
from sealkit.wire.records import Json
from sealkit.wire.text import shortened
from sealkit.world.readers import messages_of, said_by
from sealkit.world.sdk import Reader

UNREADABLE = "the judge can read nothing in the reply"


@dataclass(frozen=True, slots=True)
class Question:
    """One reading of one episode: what is asked, and what becomes of the reply."""

    bench: Bench
    shelved: Shelved
    taken: Taken
    standing: OneReading

    @property
    def slot(self) -> Slot:
        """The slot whose episode is read."""
        return self.shelved.slot

    def ask(self) -> Ask:
        """The question; `HarnessError` if the judge's reader breaks."""
        sealed = self.bench.sealed
        assert sealed is not None, "a pilot's episodes are not read"
        scenario = decode_record(sealed.under(self.shelved.pin).trusted(self.slot).scenario, Scenario)
        episode = decode_record(episode_line(self.bench.folder, self.shelved, inside=self.bench.study), Episode)
        messages = messages_of(self._reader, scenario, episode, self.taken.level)
        return Ask(role=self.taken.role or "", messages=messages, schema=self._reader.schema)

    def read(self, text: str) -> Json:
        """What the reply says; `HarnessError` if the judge's reader breaks."""
        return said_by(self._reader, text)

    @property
    def _reader(self) -> Reader:
        return self.bench.readers[self.taken.reader]


class Readings(Loop[Question, Calling]):
    """The readings of a stage that are left."""

    def __init__(self, desk: Desk, state: Standing, executor: Calling) -> None:
        super().__init__(desk, executor)
        self.state = state

    def left(self) -> Iterator[Question]:
        """Slot by slot as they were drawn, the readings of each in the plan's order."""
        for slot in self.bench.drawn():
            shelved = self.state.reads.of_slot(slot)
            for taken in readings_asked(self.bench.plan.spec, str(slot["arm"])) if shelved is not None else ():
                assert shelved is not None
                one = shelved.readings.setdefault(taken.key, OneReading())
                if self.state.reads.may_try(one):
                    yield Question(self.bench, shelved, taken, one)

    def begin(self, work: Question) -> Try[Question]:
        """Ask once more; the entry is on disk first."""
        self.state.reads.begin(work.standing, work.taken.key)
        number = work.standing.tried
        event = Asked(
            stage=self.bench.stage, pin=self.bench.pin, slot=work.slot, attempt=number,
            episode=work.shelved.digest, reading=work.taken.reading, level=work.taken.level,
        )  # fmt: skip
        self.journal.append(event, now=self.now())
        return Try(work, number, self.executor.submit_reading(work, number))

    def keep(self, one: Try[Question], outcome: Kept | Said) -> None:
        """Record what was said."""
        assert isinstance(outcome, Said)
        read = outcome.said is not None
        self._record(one, outcome.said, "said" if read else "unreadable", "" if read else UNREADABLE, outcome.calls)

    def fail(self, one: Try[Question], broke: Broke) -> int:
        """Record that nothing was said."""
        ending: Heard = "provider_error" if broke.ending == "provider_error" else "harness_error"
        self._record(one, None, ending, broke.why, broke.calls)
        return one.work.standing.failed

    @property
    def errors_in_a_row(self) -> int:
        """How many readings have failed one after another."""
        return self.state.reads.errors_in_a_row

    def _record(self, one: Try[Question], said: Json, ending: Heard, why: str, calls: bytes) -> None:
        work = one.work
        event = Read(
            stage=self.bench.stage, pin=self.bench.pin, slot=work.slot, attempt=one.number,
            episode=work.shelved.digest, reading=work.taken.reading, level=work.taken.level, said=said, ending=ending,
            why=shortened(why), calls=call_lines(calls),
        )  # fmt: skip
        self.journal.append(event, now=self.now(), calls=calls)
        self.state.reads.end(work.standing, work.taken.key, ending)
