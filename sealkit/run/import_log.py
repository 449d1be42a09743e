"""Takes the episodes of one arm from an Inspect AI log: each of its slots, no more, no less, journaled as a run is.

A log is fit for an arm if every option of the arm stands in the log's task arguments as the plan has it, if it was made
with the plan's models (and settings, where it states them), and if its samples and epochs are the arm's slots: none
without a slot, none twice, none missing. All of that is checked before the first entry is written.

    opened → imported → for each slot: attempted, then episode or failed → closed, once every arm is there

A sample that was drawn again after errors has a failed attempt for each of them, as a run would have; the plan's
`attempts` must allow that many.

An import that was killed goes on where it was when the same command is given again.

A log that was begun before the seal is not preregistered. It is refused unless the plan's `data_access` says that data
had been collected; the journal says on which side it falls. The time is the log's own word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

import msgspec

from sealkit.agents.models.secrets import Watch
from sealkit.plan.actors import ExternalArm, ExternalWorld, Model, ModelByFactor
from sealkit.plan.slots import REPETITION, Slot
from sealkit.run.bench import Bench, open_bench
from sealkit.run.inspect_log import Log, Sample, read_log
from sealkit.run.interrupt import interrupts
from sealkit.run.order import drawn_slots
from sealkit.run.progress import Standing, follow_all
from sealkit.seal.history import spell_slot
from sealkit.seal.journal import Journal, utc
from sealkit.wire.canon import decode_record
from sealkit.wire.errors import MalformedError, OutOfOrderError, UntrustedError, UsageError
from sealkit.wire.events import Attempted, Closed, Failed, Imported
from sealkit.wire.recorded import Answer, Assignment, FromLog, answer_faults, record_answer
from sealkit.wire.records import Json, Level
from sealkit.wire.text import shortened

_MOST_NAMED = 8
_FAILED = "harness_error"


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a log has of one slot: why each try failed before the last, then the episode's line or why there is none."""

    slot: Slot
    failures: tuple[str, ...]
    line: bytes | None

    def is_done(self, state: Standing) -> bool:
        number = state.index(self.slot)
        failed = self.line is None and state.failed[number] >= len(self.failures)
        return bool(state.kept[number] or state.ended[number] or failed)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import left: episodes, attempts that failed, slots of the whole stage without an episode yet."""

    episodes: int
    failed: int
    left: int
    log: str
    created: str
    before_seal: bool


def import_inspect(path: Path, plan_path: Path, arm: str, *, now: Callable[[], datetime]) -> ImportReport:
    """Every confirmatory slot of `arm` has its episode, or a failed attempt, from the log at `path`, after this."""
    bench = open_bench(plan_path, "confirmatory", runs=False)
    _check_plan(bench, arm)
    log = read_log(path)
    before = _before_seal(bench, log, str(path), now())
    taken = _Fitting(bench, arm, log, str(path)).all()
    with bench.writing(now) as journal, interrupts() as ctrl_c, ctrl_c.held():
        state, resumed = _standing(bench, arm, log.digest, taken, str(path))
        journal.append(bench.opened(), now=now())
        if not resumed:
            event = Imported(
                stage="confirmatory", pin=bench.pin, arm=arm, format="inspect", log=log.digest, bytes=log.size,
                created=log.created, before_seal=before,
            )  # fmt: skip
            journal.append(event, now=now())
        for one in taken:
            if not one.is_done(state):
                _record(bench, journal, one, state, now)
        state = follow_all(bench.begin(), bench.history().entries())
        left = state.untried()
        if not left:
            journal.append(_closed(state), now=now())
    episodes = sum(one.line is not None for one in taken)
    return ImportReport(episodes, len(taken) - episodes, left, log.digest, log.created, before)


def _standing(bench: Bench, arm: str, log: str, taken: list[_Taken], where: str) -> tuple[Standing, bool]:
    """Where the stage stands, and whether a crash cut off an import of just this log for this arm."""
    state, arms = bench.begin(), list[str]()
    for entry in bench.history().entries():
        state.follow(entry)
        if isinstance(entry.event, Imported) and entry.event.log == log:
            arms.append(entry.event.arm)
    done = all(one.is_done(state) for one in taken)
    whole = not state.untried()
    if arms and (arms != [arm] or (done and (state.closed or not whole))):
        raise OutOfOrderError(f"this log was imported for arm {arms[0]}", where=where)
    there = [one.slot for one in taken if state.tried[state.index(one.slot)]]
    if there and not arms:
        what = f"{len(there)} slots of arm {arm} were tried already, the first: {spell_slot(there[0])}"
        raise OutOfOrderError(what, where=where, remedy="an arm is imported once, whole")
    return state, bool(arms)


def _record(bench: Bench, journal: Journal, taken: _Taken, state: Standing, now: Callable[[], datetime]) -> None:
    """One slot, as a run records it, from where a crash left it."""
    pin, slot, number = bench.pin, taken.slot, state.index(taken.slot)
    attempt = state.tried[number]
    for why in taken.failures[state.failed[number] :]:
        attempt += 1
        journal.append(Attempted(stage="confirmatory", pin=pin, slot=slot, attempt=attempt), now=now())
        failed = Failed(
            stage="confirmatory", pin=pin, slot=slot, attempt=attempt, ending=_FAILED, why=shortened(why), calls=None
        )
        journal.append(failed, now=now())
    if taken.line is not None:
        attempt += 1
        journal.append(Attempted(stage="confirmatory", pin=pin, slot=slot, attempt=attempt), now=now())
        journal.append_episode(taken.line, stage="confirmatory", pin=pin, slot=slot, attempt=attempt, now=now())


def _closed(state: Standing) -> Closed:
    return Closed(
        stage="confirmatory", slots=state.index.count, episodes=state.episodes,
        abandoned=sum(state.abandoned.values()), missing=state.index.count - state.episodes,
    )  # fmt: skip


def _check_plan(bench: Bench, arm: str) -> None:
    spec, plan = bench.plan.spec, bench.plan
    if not isinstance(spec.world, ExternalWorld):
        raise UsageError("episodes of this world are run, not imported", where=plan.where("world"))
    if spec.world.run is not None:
        remedy = "write run: null where the records come from logs"
        raise UsageError(
            "the plan names a command that runs its slots", where=plan.where("world", "run"), remedy=remedy
        )
    if arm not in spec.factors.arm:
        raise UsageError(f"the plan has no arm {arm!a}; it has {', '.join(spec.factors.arm)}", where="--arm")
    if spec.factors.further:
        name = next(iter(spec.factors.further))
        what = f"a log says nothing of the factor {name}"
        raise UsageError(what, where=plan.where("factors", name), remedy="let arms stand for what differs between logs")


def _before_seal(bench: Bench, log: Log, where: str, now: datetime) -> bool:
    """Whether the log was begun before the seal.

    `UntrustedError` if the plan says that there was nothing then, or if the log says that it is still to begin.
    """
    assert bench.sealed is not None
    if log.created > utc(now):
        what = f"says that it was begun {log.created}, and it is {utc(now)}"
        raise UntrustedError(
            what, where=where, remedy="set the clock right, or evaluate again: no such log is recorded"
        )
    seal = bench.sealed.seal
    before = log.created < seal.sealed_at
    if before and seal.data_access == "none_collected":
        raise UntrustedError(
            f"was begun {log.created}, before the seal of {seal.sealed_at}, and the plan says that there was no data",
            where=where,
            remedy="such a log is not preregistered: evaluate again, or seal a plan whose data_access says so",
        )
    return before


class _Fitting:
    """Fits one log to the slots of one arm."""

    def __init__(self, bench: Bench, arm: str, log: Log, where: str) -> None:
        self._bench, self._arm, self._log, self._where = bench, arm, log, where
        self._spec = bench.plan.spec
        self._families: Mapping[str, Level] = {str(level): level for level in self._spec.factors.family}

    def all(self) -> list[_Taken]:
        """Every slot of the arm in the order of a run, each with its episode's line or why there is none."""
        self._check_log()
        found: dict[str, tuple[Slot, Sample]] = {}
        for sample in self._log.samples:
            slot = self._slot(sample)
            if found.setdefault(spell_slot(slot), (slot, sample))[1] is not sample:
                raise self._refuse(f"sample {sample.id!a}, epoch {sample.epoch}, stands twice")
        slots = [slot for slot in drawn_slots(self._spec, "confirmatory") if slot["arm"] == self._arm]
        missing = [spell_slot(slot) for slot in slots if spell_slot(slot) not in found]
        if missing or len(found) > len(slots):
            some = "; ".join(missing[:_MOST_NAMED]) or next(iter(found.keys() - {spell_slot(slot) for slot in slots}))
            raise self._refuse(f"{len(found)} samples for the {len(slots)} slots of arm {self._arm}: {some}")
        self._check_counts()
        return [self._taken(*found[spell_slot(slot)]) for slot in slots]

    def _slot(self, sample: Sample) -> Slot:
        spec = self._spec
        family = self._families.get(sample.id)
        if family is None:
            raise self._refuse(f"sample {sample.id!a} is no level of family, so it has no slot")
        slot: Slot = {"arm": self._arm, "family": family}
        if spec.sample.repetitions > 1:
            if len(spec.factors.seed) != 1 or sample.epoch > spec.sample.repetitions:
                due = f"one seed and epochs 1 to {spec.sample.repetitions}"
                raise self._refuse(
                    f"epoch {sample.epoch} is repetition {sample.epoch - 1}, which has no slot; due {due}"
                )
            return slot | {"seed": spec.factors.seed[0], REPETITION: sample.epoch - 1}
        if sample.epoch not in spec.factors.seed:
            raise self._refuse(f"epoch {sample.epoch} is no seed of the plan, so it has no slot")
        return slot | {"seed": sample.epoch}

    def _check_log(self) -> None:
        arm = self._spec.factors.arm[self._arm]
        assert isinstance(arm, ExternalArm)
        for name, due in arm.options.items():
            if name not in self._log.task_args:
                raise self._refuse(f"has no task argument {name}, an option of arm {self._arm}")
            if self._log.task_args[name] != due:
                found = f"the task argument {name} is {str(self._log.task_args[name])[:80]!a}"
                raise self._refuse(f"{found}, but arm {self._arm} has {str(due)[:80]!a}")

    def _check_counts(self) -> None:
        """What the log says of how many samples it has is so; it may count one with an error as completed or not."""
        log, whole = self._log, sum(sample.error is None for sample in self._log.samples)
        if log.total not in (None, len(log.samples)) or (log.completed is not None and log.completed < whole):
            said = f"says that {log.completed} of {log.total} samples were completed"
            raise self._refuse(f"{said}, and has {len(log.samples)}, {whole} of them without an error")

    def _taken(self, slot: Slot, sample: Sample) -> _Taken:
        where = f"{self._where}: sample {sample.id!a} epoch {sample.epoch}"
        attempts, tries = self._spec.sample.attempts, len(sample.retried) + 1
        if tries > 1 and (tries > attempts.max or _FAILED not in attempts.retry_on):
            most = attempts.max if _FAILED in attempts.retry_on else 1
            what = f"sample {sample.id!a}, epoch {sample.epoch}, was drawn {tries} times (error_retries)"
            raise UntrustedError(
                f"{what}, and the plan allows {most} after a {_FAILED}", where=self._where,
                remedy="evaluate without --retry-on-error, or seal a plan whose sample.attempts allows as many",
            )  # fmt: skip
        failures = [f"the sample was drawn again after an error: {why}" for why in sample.retried]
        if sample.error is not None:
            failures.append(f"the sample ended in an error: {sample.error}")
        clean = tuple(self._clean(why.encode(), where).decode() for why in failures)
        return _Taken(slot, clean, None if sample.error is not None else self._line(slot, sample, where))

    def _line(self, slot: Slot, sample: Sample, where: str) -> bytes:
        trusted = self._bench.trusted(slot)
        asked = decode_record(trusted.scenario, Assignment, where="assignment")
        measures = {name: value for name, value in sample.scores.items() if name in asked.measures}
        models = self._models(slot, sample) if sample.answer.usage.calls else {}
        answer: Answer = msgspec.structs.replace(sample.answer, measures=measures, models=models)
        faults = [f"{place}: found {found}, due {due}" for place, found, due in answer_faults(asked, answer)]
        if faults:
            raise MalformedError("; ".join(faults[:_MOST_NAMED]), where=where)
        source = FromLog(
            format="inspect", log=self._log.digest, created=self._log.created, sample=sample.id, epoch=sample.epoch
        )
        try:
            line = record_answer(trusted, answer, source)
        except MalformedError as error:
            raise MalformedError(f"no record can hold it: {error}", where=where) from error
        return self._clean(line, where)

    @staticmethod
    def _clean(line: bytes, where: str) -> bytes:
        if Watch(()).found_in(line):
            raise MalformedError("holds what looks like a key", where=where, remedy="make a log without it")
        return line

    def _models(self, slot: Slot, sample: Sample) -> dict[str, str]:
        """The model of each role of the arm, and that no other was called."""
        arm = self._spec.factors.arm[self._arm]
        assert isinstance(arm, ExternalArm)
        models = {role: self._log.roles.get(role, self._log.model) for role in arm.models}
        others = sorted(set(sample.used) - set(models.values()))
        if others:
            raise self._refuse(f"sample {sample.id!a} called {', '.join(others)}, which no role of the arm plays")
        for role in arm.models:
            self._check_settings(role, slot)
        return models

    def _check_settings(self, role: str, slot: Slot) -> None:
        """What the log states of the settings is what the plan has; what it does not state is not checked."""
        declared = self._spec.models[role]
        model: Model = declared.levels[str(slot[declared.factor])] if isinstance(declared, ModelByFactor) else declared
        settings = self._log.role_settings.get(role, self._log.settings)  # a role has its own, and not the log's
        for name, due in (("temperature", model.temperature), ("max_output_tokens", Decimal(model.max_output_tokens))):
            stated = settings[name]
            if stated is not None and not _equals(stated, due):
                raise self._refuse(f"states {name} {stated}, but the plan has {due} for {role}")

    def _refuse(self, what: str) -> UntrustedError:
        return UntrustedError(what, where=self._where, remedy="import the log of this arm, whole")


def _equals(stated: Json, due: Decimal) -> bool:
    try:
        return Decimal(str(stated)) == due
    except InvalidOperation:
        return False
