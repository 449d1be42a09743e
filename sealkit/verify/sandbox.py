"""Runs sealed source in a child process that cannot harm the one who checks it.

The source is unpacked from its archive into a fresh folder, each file against its digest. The child starts
isolated (`-I`, no bytecode), limits and isolates itself by the reviewer's own `jail.py`, and answers bounded
canonical JSON lines. It is given data and returns data; every ruling is made on this side.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, NoReturn, Self, TypeAlias, cast

import msgspec

import sealkit
from sealkit.plan.readings import Taken
from sealkit.verify.child import PROTOCOL, spelled
from sealkit.wire.canon import MAX_LINE, decode_value
from sealkit.wire.episode import Move, Trusted
from sealkit.wire.errors import HarnessError, MalformedError
from sealkit.wire.records import Json
from sealkit.wire.verdict import Errored, Verdict

Isolation: TypeAlias = Literal["kernel", "limits"]

ANSWER_SECONDS = 120
# What all answers together may take, in proportion to the work: a request is about one episode or one scenario.
START_SECONDS = 120
REQUEST_SECONDS = 10
_MAX_WORDS = 1 << 16
_CHUNK = 1 << 18


class BrokenOffError(HarnessError):
    """The child is gone or was ended: whatever it was asked, nothing was answered, and nothing may be ruled."""


class Sandbox:
    """One child over one unpacked source; use it as a context manager.

    `isolation` is what the caller insists on: `kernel` refuses to run where the system gives less,
    `limits` takes the best there is without insisting. `level` says what was given. A child that breaks the
    protocol, or takes too long, is ended at once, and every later request says so. `sealed_by` is the version of
    sealkit that the source was sealed with: one that speaks another protocol is refused. `alone` says whether the child
    can load a world or a judge without the other.
    """

    SIDE = "sealkit.verify.child"  # the module of the sealed source that answers

    def __init__(self, source: Path, *, isolation: Isolation, sealed_by: str) -> None:
        self._buffer, self._words = bytearray(), b""
        self._broken: BrokenOffError | None = None
        self._asked, self._waited, self._limit = 0, 0.0, f"{ANSWER_SECONDS} s"
        self._deadline = time.monotonic() + ANSWER_SECONDS
        code = f"{_jail()}\nenter({str(source)!r}, want={isolation!r}, side={self.SIDE!r})\n"
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", code],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=True, cwd="/",
            env={"PATH": "", "LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        self._selector, self._writable = selectors.DefaultSelector(), selectors.DefaultSelector()
        os.set_blocking(cast(IO[bytes], self._child.stdin).fileno(), False)
        self._writable.register(cast(IO[bytes], self._child.stdin), selectors.EVENT_WRITE)
        for stream in (self._child.stdout, self._child.stderr):
            self._selector.register(cast(IO[bytes], stream), selectors.EVENT_READ)
        try:
            self.level = cast(Isolation, self._answer()[0]["level"])
        except HarnessError:
            self.close()
            raise
        try:
            self._agree(isolation, sealed_by)
        except HarnessError:
            self.close()
            raise

    def _agree(self, isolation: Isolation, sealed_by: str) -> None:
        if isolation == "kernel" and self.level != "kernel":
            raise HarnessError(
                "this system isolates no process from your files and network",
                remedy="--replay=unsafe runs the study's code with limits only",
            )
        try:
            said = self._ask({"op": "hello"}, {})[0]
        except BrokenOffError:
            raise
        except HarnessError:
            said = {}  # what was sealed before there were versions knows no such request
        spoken, self.alone = said.get("protocol"), said.get("alone") is True
        if type(spoken) is not int or spoken != PROTOCOL:
            theirs = f"is {spoken}" if type(spoken) is int else "has no number"
            raise HarnessError(
                f"this study was sealed by sealkit {sealed_by[:40]!a}, whose replay protocol {theirs}; this sealkit "
                f"{sealkit.__version__} speaks {PROTOCOL}",
                remedy="install that sealkit to run the sealed source again; without --replay its data can be checked",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the child."""
        self._child.kill()
        self._child.wait()
        self._selector.close()
        self._writable.close()
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            with contextlib.suppress(BrokenPipeError):  # what was not yet written to it
                cast(IO[bytes], stream).close()

    # --- requests ------------------------------------------------------------------------------

    def load(self, world: str | None, judge: str | None) -> tuple[str, ...]:
        """Load the world, the judge, or both; the names of the judge's measures."""
        request: dict[str, Json] = {"op": "load"}
        request |= {name: one for name, one in (("world", world), ("judge", judge)) if one is not None}
        measures = self._ask(request, {})[0].get("measures")
        if not isinstance(measures, list):
            raise HarnessError("the sealed source names no measures")
        return tuple(str(name) for name in measures)

    def rerun(self, trusted: Trusted, moves: tuple[Move, ...], ended: str, why: str) -> bytes:
        """The line that the sealed world leaves when it is given these moves."""
        wired = cast(Json, msgspec.to_builtins(moves))
        request = _identity("rerun", trusted) | {"moves": wired, "ended": ended, "why": why}
        return self._ask_for("episode", request, {"scenario": trusted.scenario})

    def play(self, agent: str, trusted: Trusted) -> bytes:
        """The episode that this scripted agent of the sealed world leaves of the slot."""
        request = _identity("play", trusted) | {"agent": agent}
        return self._ask_for("episode", request, {"scenario": trusted.scenario})

    def rerun_arm(
        self, trusted: Trusted, plan: bytes, calls: Sequence[bytes], replies: Sequence[bytes]
    ) -> bytes | str:  # fmt: skip
        """The episode that the slot's sealed arm leaves with these replies; a sentence if they answer other questions.

        `plan` is the plan's file, `calls` are the lines of the attempt, `replies` the bodies of those with an answer.
        """
        request = _identity("arm", trusted) | {"plan": plan.decode()}
        raw = {"scenario": trusted.scenario}
        raw |= {f"call.{number}": line for number, line in enumerate(calls)}
        raw |= {f"reply.{number}": b64encode(body) for number, body in enumerate(replies)}
        answer, lines = self._ask(request, raw)
        if "untrusted" in answer:
            return str(answer["untrusted"])
        if "episode" not in lines:
            raise HarnessError("the sealed source answered without episode")
        return lines["episode"]

    def judge(self, scenario: bytes, episode: bytes) -> Mapping[str, Json]:
        """The measures that the sealed judge gives this episode."""
        measures = self._ask({"op": "judge"}, {"scenario": scenario, "episode": episode})[0].get("measures")
        if not isinstance(measures, dict):
            raise HarnessError("the sealed judge gave no measures")
        return measures

    def read_again(
        self, trusted: Trusted, episode: bytes, plan: bytes, taken: Taken, requests: Sequence[str],
        replies: Sequence[bytes],
    ) -> dict[str, Json] | str:  # fmt: skip
        """What the sealed judge reads in the reply, as `said`; a sentence if it does not ask the requests.

        `plan` is the plan's file, `replies` has the body of the response, or nothing.
        """
        request: dict[str, Json] = {"op": "read", "plan": plan.decode(), "slot": dict(trusted.slot)}
        request |= {"reading": taken.reading, "level": taken.level, "requests": list(requests)}
        raw = {"scenario": trusted.scenario, "episode": episode}
        raw |= {f"reply.{number}": b64encode(body) for number, body in enumerate(replies)}
        answer, _ = self._ask(request, raw)
        if "untrusted" in answer:
            return str(answer["untrusted"])
        if "said" not in answer:
            raise HarnessError("the sealed source answered without what was said")
        return answer

    def score(self, scenario: bytes, episode: bytes, readings: Sequence[Json]) -> Sequence[Mapping[str, Json]]:
        """The measures that the sealed judge gives each reading of this episode."""
        request: dict[str, Json] = {"op": "score", "readings": list(readings)}
        scores = self._ask(request, {"scenario": scenario, "episode": episode})[0].get("scores")
        if not isinstance(scores, list) or len(scores) != len(readings):
            raise HarnessError("the sealed judge did not score every reading")
        found = [score for score in scores if isinstance(score, dict)]
        if len(found) < len(scores):
            raise HarnessError("the sealed judge gave no measures of a reading")
        return found

    def scenario(self, family: str, seed: int, params: Mapping[str, Json]) -> bytes:
        """The scenario line that the sealed world makes of (family, seed)."""
        request: dict[str, Json] = {"op": "scenario", "family": family, "seed": seed, "params": dict(params)}
        return self._ask_for("scenario", request, {})

    def check(self, verifier: str, trusted: Trusted, episode: bytes) -> Verdict:
        """The verdict of the study's own verifier; whatever it breaks is `Errored`."""
        request = _identity("check", trusted) | {"verifier": verifier}
        try:
            answer, _ = self._ask(request, {"scenario": trusted.scenario, "episode": episode})
            return cast(Verdict, msgspec.convert(answer, Verdict))
        except BrokenOffError:
            raise
        except (HarnessError, MalformedError, msgspec.ValidationError) as error:
            return Errored(message=str(error))

    def _ask_for(self, name: str, request: dict[str, Json], raw: dict[str, bytes]) -> bytes:
        _, lines = self._ask(request, raw)
        if name not in lines:
            raise HarnessError(f"the sealed source answered without {name}")
        return lines[name]

    def _ask(self, request: dict[str, Json], raw: dict[str, bytes]) -> tuple[dict[str, Json], dict[str, bytes]]:
        """The answer to one request, and the lines that came with it."""
        if self._broken is not None:
            raise BrokenOffError(self._broken.what, remedy=self._broken.remedy)
        self._asked += 1
        began, due = time.monotonic(), START_SECONDS + REQUEST_SECONDS * self._asked
        left = due - self._waited
        self._deadline, self._limit = began + ANSWER_SECONDS, f"{ANSWER_SECONDS} s"
        if left < ANSWER_SECONDS:
            self._deadline = began + left
            each = f"{START_SECONDS} s and {REQUEST_SECONDS} s for each episode, scenario or measure asked for"
            self._limit = f"the time that is left: {due} s for all {self._asked} answers, which is {each}"
        try:
            self._send(spelled(request, raw))
            answer, lines = self._answer()
        finally:
            self._waited += time.monotonic() - began
        if "error" in answer:
            raise HarnessError(f"the sealed source failed: {answer['error']}")
        return answer, lines

    def _send(self, message: bytes) -> None:
        stdin, left = cast(IO[bytes], self._child.stdin).fileno(), memoryview(message)
        while left:
            if not self._writable.select(max(0.0, self._deadline - time.monotonic())):
                self._too_late("read nothing")
            try:
                left = left[os.write(stdin, left) :]
            except BrokenPipeError:
                self._break_off(self._last_words())

    def _answer(self) -> tuple[dict[str, Json], dict[str, bytes]]:
        """The next line and those that it announces, which must be all that was said."""
        try:
            answer = decode_value(self._line(), where="answer of the sealed source")
        except MalformedError as error:
            self._break_off(str(error))
        names = answer.pop("raw", []) if isinstance(answer, dict) else None
        if not isinstance(answer, dict) or not isinstance(names, list) or len(names) > 1:
            self._break_off("the sealed source answered something else than one object")
        lines = {str(name): self._line() for name in names}
        if self._buffer:
            self._break_off("the sealed source said more than its answer")
        return answer, lines

    def _line(self) -> bytes:
        while b"\n" not in self._buffer:
            if len(self._buffer) > MAX_LINE:
                self._break_off(f"the sealed source answered more than {MAX_LINE} bytes")
            ready = self._selector.select(max(0.0, self._deadline - time.monotonic()))
            if not ready or time.monotonic() > self._deadline:
                self._too_late("gave no answer")
            for key, _ in ready:
                self._take(cast(IO[bytes], key.fileobj))
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line

    def _take(self, stream: IO[bytes]) -> None:
        """Read what `stream` has: a part of an answer, or words that only matter once the child has ended."""
        chunk = os.read(stream.fileno(), _CHUNK)
        if stream is self._child.stderr:
            self._words = (self._words + chunk)[-_MAX_WORDS:]
            if not chunk:
                self._selector.unregister(stream)
        elif chunk:
            self._buffer += chunk
        else:
            self._break_off(self._last_words())

    def _too_late(self, what: str) -> NoReturn:
        remedy = "nothing was ruled, and nothing counts against an agent; try it on a machine with less to do"
        self._break_off(f"the sealed source {what} in {self._limit}", remedy)

    def _break_off(self, why: str, remedy: str = "") -> NoReturn:
        """End the child: after this nothing that it says can be taken for an answer."""
        self._broken = BrokenOffError(why, remedy=remedy)
        self._child.kill()
        raise self._broken

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=5)  # it has closed its output, and is about to end
        self._child.kill()
        self._child.wait()
        stderr = cast(IO[bytes], self._child.stderr)
        os.set_blocking(stderr.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            self._words = (self._words + os.read(stderr.fileno(), _MAX_WORDS))[-_MAX_WORDS:]
        words = self._words.decode(errors="replace").strip().splitlines()
        return f"the sealed source stopped (status {self._child.returncode}): {words[-1] if words else 'no word'}"


def _jail() -> str:
    return Path(__file__).with_name("jail.py").read_text(encoding="utf-8")


def _identity(op: str, trusted: Trusted) -> dict[str, Json]:
    slot: dict[str, Json] = dict(trusted.slot)
    return {"op": op, "pin": trusted.pin, "judge": trusted.judge, "slot": slot}
