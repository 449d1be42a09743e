"""The methods paragraph: what was done, in sentences that the journal and the seal alone decide.

Nobody writes these sentences; they are a function of the records, so they cannot say more than happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sealkit.plan.actors import ModelByFactor
from sealkit.plan.lint_world import RECORDED, level_in_words
from sealkit.plan.schema import Spec
from sealkit.plan.slots import slot_count
from sealkit.publish.pages.plain import words
from sealkit.seal.commitment import Seal, Sibling
from sealkit.verify.tally import CallTally
from sealkit.wire.attempts import Calls
from sealkit.wire.chain import Entry
from sealkit.wire.digest import short
from sealkit.wire.events import (
    Amended,
    Analysed,
    Asked,
    Attempted,
    EpisodeKept,
    Failed,
    Imported,
    Looked,
    Merged,
    Opened,
    Paused,
    Read,
    Recovered,
    Repaired,
    Sealed,
    Withdrawn,
    Withheld,
)
from sealkit.wire.shardruns import ShardRuns


@dataclass(slots=True)
class Course:
    """What the journal says of the course of a study; fed entry by entry. Counts are of the confirmatory run alone.

    `endings` counts attempts that ended without an episode, `smoke` the episodes of smoke runs; `first_attempt` and
    `first_look` are places in the journal.
    """

    sealed: int | None = None
    first_attempt: int | None = None
    first_look: int | None = None
    first_time: str = ""
    last_time: str = ""
    opened: int = 0
    attempts: int = 0
    episodes: int = 0
    smoke: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    pauses: Counter[str] = field(default_factory=Counter)
    looks: Counter[str] = field(default_factory=Counter)
    phases: Counter[str] = field(default_factory=Counter)
    environments: set[str] = field(default_factory=set)
    calls: CallTally = field(default_factory=CallTally)  # of arms
    reads: CallTally = field(default_factory=CallTally)  # of readings
    withheld: int = 0
    withdrawals: int = 0
    imported: list[Imported] = field(default_factory=list)
    torn: int = 0
    behind: int = 0
    shards: set[int] = field(default_factory=set)
    shared_among: int = 0
    runs: ShardRuns = field(default_factory=ShardRuns)
    readings: dict[str, Counter[str]] = field(default_factory=dict)  # by reading and level, how their tries ended
    asked: Counter[str] = field(default_factory=Counter)  # by reading and level, how many tries began

    def hear(self, calls: Calls) -> None:
        """Take the calls that the last entry tells of into account."""
        confirmatory = [call for call in calls if call.stage == "confirmatory"]
        self.calls.add(tuple(call for call in confirmatory if call.purpose == "act"))
        self.reads.add(tuple(call for call in confirmatory if call.purpose == "read"))

    def see(self, entry: Entry) -> None:
        """Take one entry into account."""
        event = entry.event
        self.runs.follow(entry)
        if isinstance(event, (Opened, Attempted, EpisodeKept, Failed, Paused)):
            if event.stage == "confirmatory":
                self._see_run(entry, event)
            elif isinstance(event, EpisodeKept):
                self.smoke += 1
        elif isinstance(event, (Asked, Read)):
            if event.stage == "confirmatory":
                self._see_reading(event)
        elif isinstance(event, Sealed):
            self.sealed = entry.seq
        elif isinstance(event, (Looked, Analysed)):
            self.first_look = entry.seq if self.first_look is None else self.first_look
            if isinstance(event, Looked):
                self.looks[event.what] += 1
        elif isinstance(event, Amended):
            self.phases[event.phase] += 1
        elif isinstance(event, Withheld):
            self.withheld += 1
        elif isinstance(event, Withdrawn):
            self.withdrawals += 1
        elif isinstance(event, Imported):
            self.imported.append(event)
        elif isinstance(event, Repaired):
            self.torn += 1
        elif isinstance(event, Recovered):
            self.behind += 1
        elif isinstance(event, Merged):
            self.shards.add(event.shard)
            self.shared_among = event.of

    def _see_run(self, entry: Entry, event: Opened | Attempted | EpisodeKept | Failed | Paused) -> None:
        if isinstance(event, Opened):
            self.opened += 1
            self.environments.add(event.environment)
        elif isinstance(event, Paused):
            self.pauses[event.reason] += 1
        else:
            # Shards, taken over one after another, have run side by side.
            self.first_time = min(self.first_time or entry.time, entry.time)
            self.last_time = max(self.last_time, entry.time)
            if isinstance(event, Attempted):
                self.attempts += 1
                self.first_attempt = entry.seq if self.first_attempt is None else self.first_attempt
            elif isinstance(event, EpisodeKept):
                self.episodes += 1
            else:
                self.endings[event.ending] += 1

    def _see_reading(self, event: Asked | Read) -> None:
        name = f"{event.reading} {event.level}"
        endings = self.readings.setdefault(name, Counter())
        if isinstance(event, Asked):
            self.asked[name] += 1
        else:
            endings[event.ending] += 1


def course_of(entries: Iterable[Entry]) -> Course:
    """The course that these entries tell."""
    course = Course()
    for entry in entries:
        course.see(entry)
    return course


def methods(spec: Spec, seal: Seal, pin: str, course: Course) -> str:
    """The methods paragraph of a study that was sealed under `pin`."""
    return " ".join((*_before(spec, seal, pin, course), *_run(spec, course), *_after(spec, course)))


def _before(spec: Spec, seal: Seal, pin: str, course: Course) -> Iterator[str]:
    yield (
        f"The plan {spec.id} was sealed on {seal.sealed_at[:10]} at {seal.sealed_at[11:16]} UTC with sealkit "
        f"{seal.sealkit}, under the pin {short(pin)}; data access at the seal: {words(spec.data_access)}."
    )
    piloted, called = seal.pilot.episodes, seal.pilot.calls
    yield f"Before it, {many(piloted, 'pilot episode')} and {many(called, 'model call')} were recorded."
    if seal.beside:
        yield f"When it was sealed, its folder held other sealed plans: {'; '.join(map(_beside, seal.beside))}."
    if course.smoke:
        yield f"Smoke runs left {many(course.smoke, 'episode')}, never analysed."


def _beside(other: Sibling) -> str:
    """One of them, and how far its journal went."""
    if other.head is None:
        return f"{other.plan}, with no journal"
    count, _, _ = other.head.partition(":")
    paused = "" if other.paused is None else f", whose run stood paused ({words(other.paused)})"
    return f"{other.plan}, {many(int(count), 'entry', 'entries')} into its journal{paused}"


def _models(spec: Spec) -> Iterator[str]:
    """Which model each level of a factor asserts, where a factor chooses it."""
    for role, model in spec.models.items():
        if isinstance(model, ModelByFactor):
            each = ", ".join(f'{level} "{one.id}"' for level, one in model.levels.items())
            yield f"The model {role} is chosen by the factor {model.factor}: {each}."


def _run(spec: Spec, course: Course) -> Iterator[str]:
    planned = many(slot_count(spec, "confirmatory"), "slot")
    how = "taken from logs" if course.imported else "run in drawn order"
    ran = f"{how} between {course.first_time} and {course.last_time}" if course.attempts else "never run"
    yield f"{planned} were planned in blocks of {' and '.join(spec.sample.block_by)}, {ran}."
    for one in course.imported:
        side = "before the seal: these episodes were not preregistered" if one.before_seal else "after the seal"
        log = f"an {one.format} log ({short(one.log)})"
        yield f"Arm {one.arm} comes from {log}, begun by its own word {one.created}, {side}."
    failed = course.endings.total()
    abandoned = course.attempts - course.episodes - failed
    parts = [f"{course.episodes} left an episode"]
    parts += [f"{failed} ended without one ({listed(course.endings)})"] if failed else []
    parts += [f"{abandoned} {were(abandoned)} abandoned"] if abandoned else []
    yield f"Of {many(course.attempts, 'attempt')}, {', '.join(parts)}."
    for name, endings in sorted(course.readings.items()):
        read, unread = endings["said"] + endings["unreadable"], endings["unreadable"]
        lost = Counter({ending: count for ending, count in endings.items() if ending not in ("said", "unreadable")})
        parts = [f"{many(read, 'episode')} {were(read)} read by a model, shown neither arm nor family"]
        parts += [f"{unread} of the replies could not be read"] if unread else []
        parts += [f"{many(lost.total(), 'try', 'tries')} failed ({listed(lost)})"] if lost else []
        abandoned = course.asked[name] - endings.total()
        parts += [f"{many(abandoned, 'try', 'tries')} {were(abandoned)} abandoned"] if abandoned else []
        yield f"Reading {words(name)}: {', '.join(parts)}."
    if course.shards:
        yield (
            f"It was shared among {many(course.shared_among, 'shard')} by whole blocks, each with a journal of its "
            f"own, of which {len(course.shards)} {were(len(course.shards))} merged into this one."
        )
    for killed in course.runs.killed:
        yield f"{str(killed).capitalize()}."
    yield from _models(spec)
    yield from _called(course)
    if course.opened > 1:
        yield f"The run was opened {course.opened} times."
    if course.pauses:
        yield f"It was paused {many(course.pauses.total(), 'time')} ({listed(course.pauses)})."
    if course.behind or course.torn:
        yield (
            f"After crashes, {many(course.torn, 'torn tail')} of a file {were(course.torn)} set aside and "
            f"{many(course.behind, 'entry', 'entries')} of the journal {were(course.behind)} recovered."
        )
    if len(course.environments) > 1:
        yield f"It ran in {len(course.environments)} environments."


def _called(course: Course) -> Iterator[str]:
    yield from _asked("Arms", course.calls)
    yield from _asked("Readings", course.reads)
    ended = course.episodes + course.endings.total() + sum(map(Counter.total, course.readings.values()))
    if (course.calls.requests or course.reads.requests) and course.attempts + course.asked.total() > ended:
        yield "A try that was killed may have made calls that nobody recorded."
    if course.withheld:
        yield f"{many(course.withheld, 'body', 'bodies')} of calls {were(course.withheld)} withheld."


def _asked(who: str, calls: CallTally) -> Iterator[str]:
    if not calls.requests:
        return
    how = f" ({listed(calls.statuses)})" if set(calls.statuses) != {"complete"} else ""
    yield (
        f"{who} asked models in {many(calls.calls, 'call')} and {many(calls.requests, 'HTTP request')}{how}: "
        f"{calls.input_tokens} input and {calls.output_tokens} output tokens"
        + (f", {calls.cost_microusd} micro-USD by the plan's prices." if calls.cost_microusd else ".")
    )
    if calls.waited_ms:
        yield f"Before requests that were made again {calls.waited_ms / 1000:.0f} s were waited in all."
    served = ", ".join(f"{name} {count}" for name, count in sorted(calls.served.items()))
    yield f"By their own word the replies came from {served}."


def _after(spec: Spec, course: Course) -> Iterator[str]:
    if course.phases:
        yield f"It was amended {many(course.phases.total(), 'time')} ({listed(course.phases)})."
    how = f"accepted by {' and '.join(spec.verifiers)}"
    yield f"An episode was admitted if {how}. Evidence level: {level_in_words(spec.evidence)}."
    if spec.evidence == RECORDED:
        yield (
            "What happened in an episode is the word of the program that wrote its record, its measures and usage too; "
            "sealkit checked that the record is whole and says what the plan asks for."
        )
    if course.first_look is not None:
        looks = course.looks.total()
        yield (
            f"Outcomes were first looked at in entry {course.first_look} of the journal, "
            f"and {many(looks, 'look')} {were(looks)} recorded ({listed(course.looks)})."
        )
    if course.withdrawals:
        yield f"{many(course.withdrawals, 'withdrawal')} {were(course.withdrawals)} recorded."


def many(count: int, one: str, several: str = "") -> str:
    """`count` with its noun.

    >>> many(1, "episode"), many(2, "episode"), many(0, "entry", "entries")
    ('1 episode', '2 episodes', '0 entries')
    """
    return f"{count} {one if count == 1 else several or f'{one}s'}"


def were(count: int) -> str:
    """The verb that goes with `count`."""
    return "was" if count == 1 else "were"


def listed(counts: Counter[str]) -> str:
    """Each word with its count."""
    return ", ".join(f"{words(name)} {count}" for name, count in sorted(counts.items()))
