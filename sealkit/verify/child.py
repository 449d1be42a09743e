"""The far side of a replay: runs the sealed world, judge or verifier, and answers in canonical JSON lines.

It lives in the sealed source, is started by `verify.sandbox`, and speaks one request, one answer. Each is a JSON
line; lines of a study travel as they are, each on a line of its own behind it, under the names in `raw`. The first
request is the same in every version of this protocol, so that each side learns first what the other speaks:

    {"op": "hello"}                                                      → {"alone": true, "protocol": 1}
    {"op": "load", "world": "house"}                                     → {"measures": []}
    {"op": "load", "judge": "worlds/house/judge"}                        → {"measures": ["success", …]}
    {"op": "rerun", "pin": …, "judge": …, "slot": {…}, "moves": [{…}, …], "ended": …, "why": …,
     "raw": ["scenario"]}                                                → {"raw": ["episode"]}
    {"op": "play", "agent": "NAME", "pin": …, "judge": …, "slot": {…}, "raw": ["scenario"]}   → {"raw": ["episode"]}
    {"op": "arm", "plan": "<yaml>", "pin": …, "judge": …, "slot": {…},
     "raw": ["scenario", "call.0", …, "reply.0", …]}                     → {"raw": ["episode"]} or {"untrusted": "…"}
    {"op": "judge", "raw": ["episode", "scenario"]}                      → {"measures": {…}}
    {"op": "read", "plan": "<yaml>", "slot": {…}, "reading": …, "level": …, "requests": ["sha256:…", …],
     "raw": ["episode", "scenario", "reply.0"]}                          → {"said": …} or {"untrusted": "…"}
    {"op": "score", "readings": [{"reader": …, "said": "<json>"}, {"reader": …}],
     "raw": ["episode", "scenario"]}                                     → {"scores": [{…}, …]}
    {"op": "scenario", "family": …, "params": {…}, "seed": …}            → {"raw": ["scenario"]}
    {"op": "check", "verifier": "NAME", "pin": …, "judge": …, "slot": {…}, "raw": ["episode", "scenario"]}
                                                                         → a verdict

World and judge are loaded in processes of their own: Python lets whatever shares a process with the judge change what
it says. `alone` tells that this child can be asked for one of them; one of an older sealkit loads both or nothing.

A reply is the body of a response in base64, a call a line of calls.jsonl. What goes wrong in the study's own code is
answered as {"error": "…"}; the process goes on.
"""

from __future__ import annotations

import sys
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, cast

import msgspec

from sealkit.agents.models.recorded import Recorded
from sealkit.agents.models.reply import read_reply
from sealkit.agents.models.request import FORMS, encode_request, model_of
from sealkit.agents.turns import Ask
from sealkit.plan.load import open_plan_bytes
from sealkit.plan.readings import readings_asked
from sealkit.plan.schema import Spec
from sealkit.run.play import answered, play_arm, play_scripted
from sealkit.wire.calls import Call
from sealkit.wire.canon import decode_record, decode_value, encode_record, encode_value
from sealkit.wire.declared import Scenario
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.episode import Episode, Move, Trusted
from sealkit.wire.errors import HarnessError, SealkitError, UntrustedError
from sealkit.wire.records import Json, Level
from sealkit.wire.verdict import Abstained, Accepted, Errored, Rejected
from sealkit.world.loader import (
    LoadedWorld,
    asks_for_rerun,
    load_judge,
    load_readers,
    load_verifier,
    load_world,
    make_scenario,
)
from sealkit.world.readers import messages_of, ruled_by, said_by, scored_by
from sealkit.world.sdk import Judge, Reader
from sealkit.world.witness import rerun

PROTOCOL: Final = 1  # raised by any change after which a child of the version before answers otherwise
HELLO: Final[dict[str, Json]] = {"alone": True, "protocol": PROTOCOL}

Request: TypeAlias = dict[str, Json]
Raw: TypeAlias = dict[str, bytes]


class Child:
    """What the child has loaded."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.world: LoadedWorld | None = None
        self.judge: Judge | None = None
        self._judge_path, self._readers = "", dict[str, Reader]()
        self._plan: tuple[str, Spec] | None = None

    def answer(self, request: Request, raw: Raw) -> tuple[Json, Raw]:
        """The answer to one request, and the lines that go with it."""
        op = request["op"]
        if op == "load":
            return self._load(request.get("world"), request.get("judge")), {}
        if op == "rerun":
            return {}, {"episode": self._rerun(request, raw)}
        if op == "play":
            return {}, {"episode": self._play(str(request["agent"]), _trusted(request, raw))}
        if op == "arm":
            return self._arm(request, raw)
        if op == "judge":
            return self._judge(raw), {}
        if op == "read":
            return self._read(request, raw), {}
        if op == "score":
            return self._score(request, raw), {}
        if op == "scenario":
            return {}, {"scenario": self._scenario(request)}
        if op == "check":
            return self._check(request, raw), {}
        return {"error": f"no operation {op!r}"}, {}

    def _load(self, world: Json, judge: Json) -> Json:
        measures: tuple[str, ...] = ()
        if world is not None:
            self.world = load_world(self.source, str(world))
        if judge is not None:
            self.judge, measures = load_judge(self.source, str(judge))
            self._judge_path, self._readers = str(judge), {}
        return {"measures": list(measures)}

    def _rerun(self, request: Request, raw: Raw) -> bytes:
        moves = msgspec.convert(request["moves"], tuple[Move, ...])
        return self.run_again(_trusted(request, raw), moves, str(request["ended"]), str(request["why"]))

    def run_again(self, trusted: Trusted, moves: tuple[Move, ...], ended: str, why: str) -> bytes:
        """The line that the loaded world leaves when it is given these moves."""
        assert self.world is not None, "load comes first"
        session = self.world.session(decode_record(trusted.scenario, Scenario))
        return rerun(session, trusted, moves, ended=ended, why=why)

    def _play(self, agent_name: str, trusted: Trusted) -> bytes:
        assert self.world is not None, "load comes first"
        return play_scripted(self.world, agent_name, trusted)

    def _arm(self, request: Request, raw: Raw) -> tuple[Json, Raw]:
        assert self.world is not None, "load comes first"
        spec = self._spec(str(request["plan"]))
        bodies = {digest_bytes(body): body for body in map(b64decode, _numbered(raw, "reply"))}
        recorded = Recorded(spec, bodies.__getitem__, [decode_record(line, Call) for line in _numbered(raw, "call")])
        trusted = _trusted(request, raw)
        arm = spec.factors.arm[str(trusted.slot["arm"])]
        try:
            playing = play_arm(arm, self.world, trusted, self.source, spec.sample.endings.meanings())
            episode = answered(playing, recorded.answer)
            recorded.finish()
        except UntrustedError as error:
            return {"untrusted": str(error)}, {}
        return {}, {"episode": episode}

    def _spec(self, plan: str) -> Spec:
        """The plan of this text; the last one is kept, because reading it takes longer than an episode."""
        if self._plan is None or self._plan[0] != plan:
            self._plan = (plan, open_plan_bytes(plan.encode(), "the sealed plan").spec)
        return self._plan[1]

    def _judge(self, raw: Raw) -> Json:
        assert self.judge is not None, "load comes first"
        measures = self.judge(decode_record(raw["scenario"], Scenario), decode_record(raw["episode"], Episode))
        return {"measures": dict(measures)}

    def _reader(self, name: str) -> Reader:
        if not self._readers:
            self._readers = dict(load_readers(self.source, self._judge_path))
        if name not in self._readers:
            raise HarnessError(f"the judge has no reader {name}")
        return self._readers[name]

    def _read(self, request: Request, raw: Raw) -> Json:
        """What the recorded reply to the judge's question says; none was recorded if there is no reply."""
        spec, slot = self._spec(str(request["plan"])), cast(dict[str, Level], request["slot"])
        key = (str(request["reading"]), str(request["level"]))
        taken = next(one for one in readings_asked(spec, str(slot["arm"])) if one.key == key)
        reader = self._reader(taken.reader)
        messages = messages_of(reader, *_episode(raw), taken.level)
        ask = Ask(role=taken.role or "", messages=messages, schema=reader.schema)
        model = model_of(spec, ask.role, slot)
        asked = {digest_bytes(encode_request(ask, model, form)) for form in FORMS}
        for recorded in cast(list[str], request["requests"]):
            if recorded not in asked:
                return {"untrusted": f"found the request {short(recorded)}, and the judge asks another"}
        replies = _numbered(raw, "reply")
        return {"said": said_by(reader, read_reply(b64decode(replies[0]), model).text) if replies else None}

    def _score(self, request: Request, raw: Raw) -> Json:
        """The measures of what was said in each reading; where nothing was, of what the rules say."""
        scenario, episode = _episode(raw)
        scores: list[Json] = []
        for one in cast(list[dict[str, str]], request["readings"]):
            reader = self._reader(one["reader"])
            said = decode_value(one["said"].encode()) if "said" in one else ruled_by(reader, scenario, episode)
            scores.append(dict(scored_by(reader, scenario, episode, said)))
        return {"scores": scores}

    def _scenario(self, request: Request) -> bytes:
        assert self.world is not None, "load comes first"
        params = cast(dict[str, Json], request["params"])
        return encode_record(make_scenario(self.world, str(request["family"]), cast(int, request["seed"]), params))

    def _check(self, request: Request, raw: Raw) -> Json:
        check = load_verifier(self.source / "verifiers" / str(request["verifier"]))
        if asks_for_rerun(check):
            check = partial(check, rerun=self.run_again)
        verdict = check(_trusted(request, raw), raw["episode"])
        if not isinstance(verdict, (Accepted, Rejected, Abstained, Errored)):
            raise TypeError(f"the verifier answered {type(verdict).__name__}, due a verdict")
        return cast(Json, msgspec.to_builtins(verdict))


def _numbered(raw: Raw, name: str) -> list[bytes]:
    """The lines called NAME.0, NAME.1, and so on, in the order in which they came."""
    return [line for each, line in raw.items() if each.startswith(f"{name}.")]


def _episode(raw: Raw) -> tuple[Scenario, Episode]:
    return decode_record(raw["scenario"], Scenario), decode_record(raw["episode"], Episode)


def _trusted(request: Request, raw: Raw) -> Trusted:
    return Trusted(
        pin=str(request["pin"]), judge=str(request["judge"]), slot=cast(dict[str, Level], request["slot"]),
        scenario=raw["scenario"],
    )  # fmt: skip


def spelled(message: dict[str, Json], raw: Raw) -> bytes:
    """A request or an answer on the wire."""
    names: list[Json] = list(raw)
    header = encode_value(message | {"raw": names} if raw else message)
    return b"".join(line + b"\n" for line in (header, *raw.values()))


def main(source: str) -> None:
    """Answer requests from standard input until it ends."""
    serve(Child(Path(source)).answer)


def serve(answers_to: Callable[[Request, Raw], tuple[Json, Raw]]) -> None:
    """Answer requests from standard input until it ends, each by `answers_to`."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    # The study's own prints must not mix with the answers.
    sys.stdout = sys.stderr
    for line in requests:
        try:
            request = cast(Request, decode_value(line.rstrip(b"\n"), where="request"))
            raw = {str(name): requests.readline()[:-1] for name in cast(list[str], request.get("raw", []))}
            answer, lines = (HELLO, {}) if request["op"] == "hello" else answers_to(request, raw)
            spoken = spelled(cast(dict[str, Json], answer), lines)
        except SealkitError as error:
            spoken = spelled({"error": str(error)}, {})
        except Exception as error:  # the study's own code may raise anything; it is told, never scored
            spoken = spelled({"error": ascii(f"{type(error).__name__}: {str(error)[:500]}")}, {})
        answers.write(spoken)
        answers.flush()
