"""Plays the slots of a plan with a policy, without HTTP: each question goes to the policy as a chat completion would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import to_builtins

from sealkit.agents.arms import start_player
from sealkit.agents.turns import Ask, Reply
from sealkit.plan.load import Plan, open_plan
from sealkit.plan.slots import Slot, slots
from sealkit.run.play import answered, play
from sealkit.wire.canon import decode_record, digest_json, encode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Episode, Trusted
from sealkit.wire.records import Json
from sealkit.world.loader import LoadedWorld, load_judge, load_readers, load_world, make_scenario
from sealkit.world.sdk import Judge, Reader, transcript
from tests.loopback.house_policies import Policy, Request

ROOT = Path(__file__).parents[2]
PIN, JUDGE = digest_json("pin"), digest_json("judge")


def request_of(asked: Ask) -> Request:
    """The question as it stands in a request."""
    request: dict[str, object] = {
        "messages": [{"role": message.role, "content": message.content} for message in asked.messages]
    }
    if asked.tools:
        request["tools"] = [{"type": "function", "function": to_builtins(tool)} for tool in asked.tools]
    return request


@dataclass(frozen=True, eq=False)
class Study:
    """plans/v1.yaml with its world, judge and reader."""

    plan: Plan
    world: LoadedWorld
    judge: Judge
    reader: Reader

    def trusted(self, slot: Slot) -> Trusted:
        params = {"turn_budget": 15, "observation_window": 3}
        scenario = make_scenario(self.world, str(slot["family"]), int(slot["seed"]), params)
        return Trusted(pin=PIN, judge=JUDGE, slot=dict(slot), scenario=encode_record(scenario))

    def play(self, slot: Slot, policy: Policy, asked: list[Ask] | None = None) -> bytes:
        """The line of the slot's episode; questions are added to `asked`."""
        trusted = self.trusted(slot)
        scenario = decode_record(trusted.scenario, Scenario)
        player, truth = start_player(self.plan.spec.factors.arm[str(slot["arm"])], self.world, scenario, ROOT)

        def answer(question: Ask) -> Reply:
            if asked is not None:
                asked.append(question)
            text = policy(request_of(question))
            return Reply(text=text, status="complete", call=digest_json(text))

        return answered(
            play(self.world, player, trusted, self.plan.spec.sample.endings.meanings(), reads_truth=truth), answer
        )

    def measure(self, slot: Slot, line: bytes, policy: Policy) -> dict[str, Json]:
        """All that the plan's judge and readings give of an episode; usage is a stand-in."""
        scenario, episode = decode_record(self.trusted(slot).scenario, Scenario), decode_record(line, Episode)
        shown = transcript(scenario, episode)
        read: dict[str, dict[str, Json]] = {"named_and_timed": {}, "named": {}, "extra_faults": {}}
        for level, reading in self.plan.spec.readings["reader"].levels.items():
            if reading.arms != "all" and slot["arm"] not in reading.arms:
                continue
            if reading.model is None:
                said = self.reader.rule(shown)
            else:
                said = self.reader.read(policy(request_of(Ask("diagnoser", self.reader.ask(shown, level), None))))
            for name, value in self.reader.score(scenario, episode, said).items():
                read[name][level] = value
        usage: dict[str, Json] = {"input_tokens": 1, "output_tokens": 1}
        return {**self.judge(scenario, episode), **read, **usage}

    def slots(self) -> Iterator[Slot]:
        return slots(self.plan.spec, "confirmatory")


def open_study() -> Study:
    judge, _ = load_judge(ROOT, "worlds/house/judge")
    reader = load_readers(ROOT, "worlds/house/judge")["diagnosis"]
    return Study(open_plan(ROOT / "plans" / "v1.yaml"), load_world(ROOT, "house"), judge, reader)
