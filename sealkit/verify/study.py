"""Reads a sealed study from its files and gives every episode to the plan's verifiers, one after another.

    with open_study(plan_path, replay=None) as study:
        for checked in study.episodes():         # streams: memory does not grow with episodes
            checked.slot, checked.verdicts

Data-only verifiers are the reviewer's own, of the reference folder of this sealkit; whether they equal the sealed
ones is said. The study's own verifiers, the replay and the judge need its code, and run only in a `Sandbox`. After
amendments each episode is checked under its own pin (`verify.under_pin`).
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeVar

import msgspec

from sealkit.plan.readings import ReadingKey, asks_readers
from sealkit.plan.slots import SlotIndex, Stage
from sealkit.run.progress import begin_sealed
from sealkit.run.reads import Reads, episode_line
from sealkit.seal.closure import SEALKIT, sealkit_tree
from sealkit.seal.history import History
from sealkit.seal.pins import Pinned
from sealkit.seal.sealed import SealedPlan, open_seal
from sealkit.verify.arms import ArmReruns
from sealkit.verify.called import CallChecks, Called
from sealkit.verify.folder import check_folder
from sealkit.verify.logs import Logs
from sealkit.verify.readings import NONE, ReadingReruns, Replies, Reply, replies_of, taken_of
from sealkit.verify.sandbox import Isolation, Sandbox
from sealkit.verify.sandboxes import WORLD, Sandboxes
from sealkit.verify.under_pin import Reviewer, UnderPin, VerifierState
from sealkit.wire.attempts import Calls, Tried, read_calls
from sealkit.wire.calls import Purpose
from sealkit.wire.chain import Entry
from sealkit.wire.episode import Counts, Trusted
from sealkit.wire.errors import HarnessError, UntrustedError
from sealkit.wire.events import EpisodeKept, Failed, Read, Slot
from sealkit.wire.recorded import FromCommand, FromLog
from sealkit.wire.records import Count
from sealkit.wire.verdict import Verdict

T = TypeVar("T")


_NO_COUNTS = Counts(acts=0, occurrences=0, restores=0, notices=0)


class _Closing(msgspec.Struct):
    ended: str
    counts: Counts = _NO_COUNTS  # a record of what somebody said has none


class _Act(msgspec.Struct):
    calls: tuple[str, ...]


class _Peek(msgspec.Struct):
    """As much of an episode as a table and its calls need; the verifiers read all of it."""

    closing: _Closing
    acts: tuple[_Act, ...] = ()
    source: FromCommand | FromLog | None = None


_is_word = re.compile(r"[A-Za-z0-9_]{1,64}").fullmatch
_peek = msgspec.json.Decoder(_Peek).decode
_NOTHING = _Peek(closing=_Closing("unreadable"))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why an episode does not count although its evidence may hold: an amendment has its slot run again, or no more."""

    amendment: Count
    why: Literal["superseded", "dropped"]


@dataclass(frozen=True, slots=True)
class Checked:
    """One episode and what every verifier of the plan said of it. `pin` is the number of the pin that it ran under.

    If its calls to models do not hold, `verdicts` says so under `calls`; under `arm`, if the arm did otherwise.
    `replies` are what models said of it when they read it.
    """

    entry: Count
    stage: Stage
    slot: Slot
    pin: Count
    left_out: LeftOut | None
    trusted: Trusted
    line: bytes
    counts: Counts
    ended: str
    verdicts: dict[str, Verdict]
    calls: Calls
    replies: Replies


class Study:
    """A sealed study under review; `open_study` makes one. Use it as a context manager."""

    def __init__(
        self, sealed: SealedPlan, sandboxes: Sandboxes, closing: contextlib.ExitStack, own: Sandboxes | None = None
    ) -> None:
        self.sealed = sealed
        self.unable = ""  # why this sealkit cannot run the sealed files, once that was tried and where it cannot
        self._closing = closing
        self._sandboxes = sandboxes
        self.calls, self.reruns = CallChecks(sealed), ArmReruns()  # of the episodes that were gone through last
        self.readings = ReadingReruns()
        self.withheld_readings: frozenset[tuple[str, ReadingKey]] = frozenset()  # by digest of the episode
        self._reviewer = Reviewer()
        self.under = {pinned.pin: UnderPin(pinned, self._reviewer, sandboxes) for pinned in sealed.pins}
        self._own, self._twins = own, dict[str, UnderPin | None]()

    def __enter__(self) -> Study:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    @property
    def latest(self) -> UnderPin:
        """The verifiers and the judge of the pin in force."""
        return self.under[self.sealed.latest.pin]

    @property
    def sandbox(self) -> Sandbox | None:
        """The child over the source of the pin in force; None if no code of the study is run."""
        return self.latest.sandbox if self.isolation is not None else None

    @property
    def isolation(self) -> Isolation | None:
        """What isolation the study's code is to run in; None if none of it is run."""
        return self._sandboxes.isolation

    @property
    def rules_twice(self) -> bool:
        """Whether the sealkit of any pin is another than the one that is running, and it was asked to say the same."""
        return self._own is not None and any(_is_other(pinned) for pinned in self.sealed.pins)

    def own_under(self, pin: str) -> UnderPin | None:
        """The sealed files of a pin run by this sealkit's code; None where its sealkit is this one, or it cannot."""
        if self._own is None or self.unable:
            return None
        if pin not in self._twins:
            pinned = self.under[pin].pinned
            self._twins[pin] = twin = UnderPin(pinned, self._reviewer, self._own) if _is_other(pinned) else None
            try:
                if twin is not None:
                    twin.open()
            except HarnessError as error:
                self.unable = str(error)
                return None
        return self._twins[pin]

    def keep(self, opened: contextlib.AbstractContextManager[T]) -> T:
        """What this context manager gives, until the study is closed."""
        return self._closing.enter_context(opened)

    @property
    def verifiers(self) -> dict[str, VerifierState]:
        """The verifiers of the plan, and whether the reviewer's own equal the sealed ones, in the pin in force."""
        return self.latest.verifiers

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Verifiers of the plan that need the study's code, while none of it is run."""
        return tuple(dict.fromkeys(name for under in self.under.values() for name in under.unchecked))

    def episodes(self, history: History, watch: Callable[[Entry], None] = lambda entry: None) -> Iterator[Checked]:
        """Every episode of `history` with its verdicts under its own pin; `watch` sees every entry, in order.

        Raises as `history` does, and `UntrustedError` for an episode of no slot of the plan, of another pin,
        or for a slot that has one.
        """
        stages: tuple[Stage, ...] = ("smoke", "confirmatory")
        states = {stage: begin_sealed(self.sealed.pins, stage) for stage in stages}
        later = Later(self.sealed.pins)
        self.calls, self.reruns, logs = CallChecks(self.sealed), ArmReruns(), Logs(self.sealed)
        self.readings, replies = ReadingReruns(), self._replies(history)
        self.withheld_readings = frozenset(
            (episode, key) for episode, said in replies.items() for key, one in said.items() if one.ending == "withheld"
        )

        def under_way(tried: Tried, purpose: Purpose) -> Counter[str]:
            state = states.get(tried.stage)
            if state is None:
                return Counter()
            if purpose == "read":
                return state.reads.under_way(tried.slot, tried.attempt)
            return Counter([""] if state.is_under_way(tried.slot, tried.attempt) else [])

        for entry, line in history:
            watch(entry)
            logs.follow(entry)
            for state in states.values():
                state.follow(entry)
            peek = _peeked(line)
            called = self.calls.take(entry, history.calls, tuple(act.calls for act in peek.acts), under_way)
            event = entry.event
            if isinstance(event, EpisodeKept) and line is not None and called is not None:
                under = self.under[self.sealed.under(event.pin).pin]
                left_out = later.left_out(under.pinned, event)
                logs.check(event.slot, peek.source, f"journal.jsonl entry {entry.seq}")
                said = replies.get(event.digest, NONE)
                yield _checked(entry.seq, event, line, peek, under, left_out, called, said, self._rerun)
            elif isinstance(event, Failed) and self.isolation is not None:
                under, calls = self.under[self.sealed.under(event.pin).pin], read_calls(history.calls, where="calls")
                trusted = under.pinned.trusted(event.slot)
                self.reruns.check_failure(under, trusted, event, calls, self.calls.bodies)
                if (twin := self.own_under(under.pinned.pin)) is not None:
                    ArmReruns().check_failure(twin, trusted, event, calls, self.calls.bodies)
            elif isinstance(event, Read) and self.isolation is not None:
                self._read_again(event, states[event.stage].reads, read_calls(history.calls, where="calls"))

    def _rerun(self, under: UnderPin, trusted: Trusted, line: bytes, calls: Calls) -> Verdict | None:
        if self.isolation is None:
            return None
        return self.reruns.check(under, trusted, line, calls, self.calls.bodies)

    def _replies(self, history: History) -> dict[str, dict[ReadingKey, Reply]]:
        """What was said of every episode. Readings stand behind all episodes, so it is looked up before them."""
        if not any(asks_readers(pinned.plan.spec) for pinned in self.sealed.pins):
            return {}
        return replies_of(self.sealed.history(), until=history.due)

    def _read_again(self, event: Read, reads: Reads, calls: Calls) -> None:
        """Raise unless the judge that was pinned then asks and reads so again, run by this sealkit too."""
        under, shelved = self.under[self.sealed.under(event.pin).pin], reads.of_slot(event.slot)
        taken = taken_of(under.pinned.plan.spec, event)
        assert shelved is not None and taken is not None, "Standing and CallChecks have refused it"
        line = episode_line(self.sealed.receipts, shelved, inside=self.sealed.study)
        trusted = self.sealed.under(shelved.pin).trusted(event.slot)
        what = (under.pinned.plan.data, event, taken, trusted, line, calls, self.calls.bodies)
        self.readings.check(under.judge, *what)
        if (twin := self.own_under(under.pinned.pin)) is not None:
            try:
                ReadingReruns().check(twin.judge, *what)
            except UntrustedError as error:
                if not isinstance(error.__cause__, HarnessError):
                    raise
                self.unable = str(error)

    def check_scenarios(self) -> Count:
        """Let the world of every pin make its scenarios again; how many, all with the sealed bytes."""
        if self.sandbox is None:
            return 0
        return sum(under.check_scenarios() for under in self.under.values())

    def check_own_scenarios(self) -> None:
        """Raise `UntrustedError` if a world that this sealkit's code runs makes another scenario than was sealed."""
        for pin in self.under:
            if (twin := self.own_under(pin)) is not None:
                try:
                    twin.check_scenarios()
                except HarnessError as error:
                    self.unable = str(error)


def _is_other(pinned: Pinned) -> bool:
    """Whether the sealkit of this pin is not the one that is running."""
    return pinned.closure.tree(SEALKIT).root != own_root()


@cache
def own_root() -> str:
    """The root of the tree of the sealkit that is running."""
    return sealkit_tree().root


class Later:
    """What became of a slot in the amendments after the pin of its episode."""

    def __init__(self, pins: Sequence[Pinned]) -> None:
        self._pins = pins
        self._slots = [SlotIndex(pinned.plan.spec, "confirmatory") for pinned in pins] if len(pins) > 1 else []

    def left_out(self, pinned: Pinned, event: EpisodeKept) -> LeftOut | None:
        """Why an episode of this pin does not count; None if it does."""
        if event.stage != "confirmatory":
            return None
        for later in self._pins[pinned.number + 1 :]:
            if self._slots[later.number].find(event.slot) is None:
                return LeftOut(later.number, "dropped")
            if later.supersedes(event.slot):
                return LeftOut(later.number, "superseded")
        return None


def _peeked(line: bytes | None) -> _Peek:
    try:
        return _NOTHING if line is None else _peek(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _NOTHING


def _checked(
    seq: int, event: EpisodeKept, line: bytes, peek: _Peek, under: UnderPin, left_out: LeftOut | None,
    called: Called, replies: Replies, rerun: Callable[[UnderPin, Trusted, bytes, Calls], Verdict | None],
) -> Checked:  # fmt: skip
    trusted = under.pinned.trusted(event.slot)
    verdicts = under.check(trusted, line)
    against = called.against
    if against is not None:
        verdicts["calls"] = against
    elif (again := rerun(under, trusted, line, called.calls)) is not None:
        verdicts["arm"] = again
    closing = peek.closing
    # A word of the plan; a stranger's record may hold anything, and counts are kept by this word.
    ended = closing.ended if _is_word(closing.ended) else "unreadable"
    return Checked(
        entry=seq, stage=event.stage, slot=event.slot, pin=under.pinned.number, left_out=left_out, trusted=trusted,
        line=line, counts=closing.counts, ended=ended, verdicts=verdicts, calls=called.calls, replies=replies,
    )  # fmt: skip


def open_study(plan_path: Path, *, replay: Isolation | None, twice: bool = False) -> Study:
    """The sealed study of `plan_path`, under review; with `replay` its sealed source is loaded in a child process.

    With `twice`, what a sealed sealkit does that is not this one is done again by this one (`Study.own_under`).
    """
    closing = contextlib.ExitStack()
    try:
        sealed = open_seal(plan_path)
        closing.callback(sealed.close)
        check_folder(sealed)
        sandboxes = Sandboxes(replay, closing)
        if replay is not None:
            sandboxes.of(sealed.latest, WORLD)  # at once: whether this system isolates it is known before a read
        own = Sandboxes(replay, closing, own=True) if twice and replay is not None else None
        return Study(sealed, sandboxes, closing, own)
    except BaseException:
        closing.close()
        raise
