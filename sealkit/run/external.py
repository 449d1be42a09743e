"""Asks a program of somebody's own: one slot in, one record out.

    stdin    the slot's assignment, one canonical JSON line (`wire.recorded.Assignment`), then the end of the file
    stdout   one JSON object with the members of `wire.recorded.Answer`, in any spelling, and nothing else
    exit     0

The program runs in the study's folder, without a shell, in a session of its own. It sees these variables and no other:
PATH as here; HOME if the plan names it; LANG and LC_ALL C.UTF-8, TZ UTC, PYTHONHASHSEED 0, PYTHONDONTWRITEBYTECODE 1;
SEALKIT_ATTEMPT, a random word by which all that it starts is found at the end (`agents.programs`); and those that the
plan's `world.environment` names, which must be set. Their names are sealed, their values are written nowhere: an answer
that holds one is refused, and words of the program that hold one are blotted out.

Whatever else comes is a `harness_error` with its reason, and is never scored: a crash, an exit that is not 0, no time
left, more than 4 MiB, no JSON, doubled keys, floats, members that do not belong, an answer that the plan rules out. At
the end everything that the program left running is killed with it. The end is that of the program itself: what was
written until then is the answer, even if something that it left running holds its output open (on Linux).
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NoReturn, cast

import msgspec

from sealkit.agents.models.budget import Spent
from sealkit.agents.models.secrets import Watch, secret_parts
from sealkit.agents.programs import MOST_WORDS, end, last_words, new_mark, quoted
from sealkit.plan.actors import ExternalWorld
from sealkit.seal.guard import Guard
from sealkit.wire.canon import MAX_LINE, decode_record, encode_value
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import HarnessError, MalformedError, UsageError
from sealkit.wire.recorded import (
    WITHOUT_EPISODE,
    Answer,
    Assignment,
    FromCommand,
    Recorded,
    answer_faults,
    record_answer,
)
from sealkit.wire.records import Json
from sealkit.wire.text import shortened

FIXED: Final[Mapping[str, str]] = {
    "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
}  # fmt: skip
_CHUNK: Final = 1 << 16
_LOOK_S: Final = 0.05
_SHORTEST_SECRET: Final = 8  # shorter values stand in texts by chance
_MOST_FAULTS: Final = 4


def stated_use(line: bytes) -> Spent:
    """The calls and tokens that a record says were used; what they cost, no record says."""
    usage = decode_record(line, Recorded).usage
    return Spent(calls=usage.calls, tokens=(usage.input_tokens or 0) + (usage.output_tokens or 0))


class AttemptError(HarnessError):
    """The program says itself that its attempt came to nothing: `ending` is the word of the plan for that."""

    def __init__(self, ending: str, why: str) -> None:
        self.ending = ending
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class Command:
    """The program of an external world, with what it is shown of this machine; `open_command` makes one."""

    run: tuple[str, ...]
    study: Path
    seconds: int
    environment: Mapping[str, str]
    secrets: tuple[tuple[str, str], ...]

    def play(self, trusted: Trusted, *, guard: Guard | None = None) -> bytes:
        """The recorded episode of a slot, whose assignment is `trusted.scenario`.

        `AttemptError` if the program reports a provider's or its own failure, `HarnessError` for everything else; but
        `DriftError`, and the program has ended, if `guard` finds a sealed file touched.
        """
        raw = _Asking(self, trusted.scenario, guard or Guard(None)).answer()
        for name, value in self.secrets:
            if value.encode(errors="surrogateescape") in raw:
                raise HarnessError(f"the answer holds the value of {name}", where=self.run[0], remedy="leave it out")
        if self.leaks(raw):
            what = "the answer holds what looks like a key, or the value of a variable that was passed on"
            raise HarnessError(what, where=self.run[0], remedy="leave it out")
        answer = read_answer(raw, where=f"answer of {self.run[0]}")
        answer = msgspec.structs.replace(answer, why=shortened(self.blotted(answer.why)))
        asked = decode_record(trusted.scenario, Assignment, where="assignment")
        if answer.ended in WITHOUT_EPISODE:
            raise AttemptError(answer.ended, answer.why or "the program gives no reason")
        faults = [f"{where}: found {found}, due {due}" for where, found, due in answer_faults(asked, answer)]
        if faults:
            more = f", and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
            found = "; ".join(shortened(fault, 300) for fault in faults[:_MOST_FAULTS])
            raise HarnessError(f"{found}{more}", where=f"answer of {self.run[0]}")
        try:
            return record_answer(trusted, answer, FromCommand(answer=digest_bytes(raw)))
        except MalformedError as error:
            raise HarnessError(str(error), where=f"answer of {self.run[0]}") from error

    def leaks(self, raw: bytes) -> bool:
        """Whether `raw` holds what is written like a key, or a value that was passed on, however JSON spells it."""
        parts = (part for _, value in self.secrets for part in secret_parts(value))
        return Watch(part.encode(errors="surrogateescape") for part in parts).found_in(raw)

    def blotted(self, words: str) -> str:
        """`words` without the value of any variable that was passed on."""
        for name, value in self.secrets:
            for part in secret_parts(value):
                words = words.replace(part, f"${name}")
        return words


def open_command(world: ExternalWorld, study: Path, here: Mapping[str, str]) -> Command:
    """The command of a world, in `here`, the environment of this process.

    `UsageError` if the world has none, or a variable that the plan passes on is not set.
    """
    if world.run is None or world.seconds is None:
        remedy = "its records come from logs: `sealkit import`"
        raise UsageError("the plan names no command to run", where="$.world.run", remedy=remedy)
    names = world.environment or ()
    missing = [name for name in names if name not in here]
    if missing:
        what = f"the plan passes {', '.join(missing)} on to its command, and the environment has no such variable"
        raise UsageError(what, where="$.world.environment", remedy="set it")
    passed = {name: here[name] for name in names}
    # A folder's name is no secret, and may well be spoken of.
    secrets = tuple(
        (name, value) for name, value in passed.items() if len(value) >= _SHORTEST_SECRET and not value.startswith("/")
    )
    shown = {"PATH": here.get("PATH", os.defpath), **FIXED, **passed}
    return Command(run=world.run, study=study, seconds=world.seconds, environment=shown, secrets=secrets)


# --- reading -------------------------------------------------------------------------------------


def read_answer(raw: bytes, *, where: str) -> Answer:
    """The answer that `raw` spells, checked; `HarnessError` if it spells none."""
    try:
        value = json.loads(raw, object_pairs_hook=_distinct)
        encode_value(value)  # so narrow that a record can hold it; names the place of a float
        return msgspec.convert(value, Answer)
    except (ValueError, RecursionError, MalformedError, msgspec.ValidationError) as error:
        begins = f"; what it wrote begins {quoted(raw, Watch(()))}" if isinstance(error, json.JSONDecodeError) else ""
        alone = ", and nothing but its answer may stand on its standard output" if begins and raw else ""
        what = f"no answer that a record can hold: {str(error)[:300]}{begins}{alone}"
        raise HarnessError(what, where=where) from error


def _distinct(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place]))
        raise ValueError(f"the key {twice[:80]!a} stands twice")
    return found


# --- asking --------------------------------------------------------------------------------------


class _Asking:
    """One process, from its start to its end."""

    def __init__(self, command: Command, line: bytes, guard: Guard) -> None:
        self._command, self._guard = command, guard
        self._deadline = time.monotonic() + command.seconds
        self._output, self._words = bytearray(), b""
        self._left = memoryview(line + b"\n")
        self._mark, self._ended = new_mark(), False
        try:
            self._process = subprocess.Popen(
                command.run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=command.study,
                env={**command.environment, **self._mark}, close_fds=True, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise HarnessError(f"cannot be started: {reason}", where=command.run[0]) from error

    def answer(self) -> bytes:
        """What the process wrote to its output, after it ended with status 0."""
        try:
            self._guard.look(since=time.monotonic())  # it runs, and is not told its slot yet
            self._exchange()
            self._wait()
        finally:
            self._end()
        return bytes(self._output)

    def _exchange(self) -> None:
        """Give it its line, and take what it says until it ends, or has closed its output and its words."""
        stdin, stdout, stderr = (
            cast(IO[bytes], pipe) for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        for pipe in (stdin, stdout, stderr):
            os.set_blocking(pipe.fileno(), False)
        with selectors.DefaultSelector() as selector, _end_of(self._process.pid) as ended:
            if ended is not None:
                selector.register(ended, selectors.EVENT_READ)
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            while not {stdout, stderr}.isdisjoint(key.fileobj for key in selector.get_map().values()):
                left = self._time_left()
                ready = [key.fileobj for key, _ in selector.select(0 if self._ended else min(left, _LOOK_S))]
                self._guard.look(since=time.monotonic() - _LOOK_S)  # what it has not read yet, it may read now
                if self._ended and not ready:
                    return  # something that was not found may hold its output open, but all that it wrote is here
                for one in ready:
                    if one is stdin:
                        self._give(selector, stdin)
                    elif one != ended:
                        self._take(selector, cast(IO[bytes], one), is_words=one is stderr)
                if ended is not None and ended in ready:
                    self._stop_all()
                    selector.unregister(ended)
                    if self._left:  # else it is closed
                        selector.unregister(stdin)

    def _give(self, selector: selectors.BaseSelector, stdin: IO[bytes]) -> None:
        try:
            self._left = self._left[os.write(stdin.fileno(), self._left) :]
        except BrokenPipeError:  # it does not want to know more; what it answers will show whether it knew enough
            self._left = memoryview(b"")
        if not self._left:
            selector.unregister(stdin)
            stdin.close()

    def _take(self, selector: selectors.BaseSelector, pipe: IO[bytes], *, is_words: bool) -> None:
        chunk = os.read(pipe.fileno(), _CHUNK)
        if not chunk:
            selector.unregister(pipe)
        elif is_words:
            self._words = (self._words + chunk)[-MOST_WORDS:]
        else:
            self._output += chunk
            if len(self._output) > MAX_LINE:
                self._fail(f"wrote more than {MAX_LINE} bytes")

    def _wait(self) -> None:
        try:
            status = self._process.wait(self._time_left())
        except subprocess.TimeoutExpired:
            self._fail(f"has not ended after {self._command.seconds} s, the time that the plan gives it")
        if status:
            how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
            self._fail(how)

    def _time_left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            self._fail(f"has not ended after {self._command.seconds} s, the time that the plan gives it")
        return left

    def _fail(self, what: str) -> NoReturn:
        raise HarnessError(f"{what}{self._last_words()}", where=self._command.run[0])

    def _last_words(self) -> str:
        stderr = cast(IO[bytes], self._process.stderr)
        with contextlib.suppress(BlockingIOError):
            self._words = (self._words + os.read(stderr.fileno(), MOST_WORDS))[-MOST_WORDS:]
        last = self._command.blotted(last_words(self._words, self._command.study))
        if not last:
            return ""
        if self._command.leaks(last.encode()):
            return "; its last words hold what looks like a key"
        return f"; its last words: {shortened(last, 300)}"

    def _stop_all(self) -> None:
        """Nothing of it runs after this, whatever it started."""
        if not self._ended:
            self._ended = True
            end(self._process, self._mark)

    def _end(self) -> None:
        self._stop_all()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError):
                cast(IO[bytes], pipe).close()


@contextlib.contextmanager
def _end_of(number: int) -> Iterator[int | None]:
    """What can be read once this child has ended; None where the system has no such thing."""
    try:
        opened = os.pidfd_open(number)
    except (OSError, AttributeError):
        yield None
        return
    try:
        yield opened
    finally:
        os.close(opened)
