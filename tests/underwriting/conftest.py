"""Episodes at the underwriting desk, run by the real recorder, from the loader's own copies of world, judge, agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from sealkit.run.play import play_scripted
from sealkit.wire.canon import decode_record, digest_json, encode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Act, Action, Episode, Notice, Trusted
from sealkit.wire.records import Json
from sealkit.wire.trace import bare
from sealkit.world.loader import LoadedWorld, load_judge, load_world, make_scenario
from sealkit.world.sdk import Judge, Session, action, words_of
from sealkit.world.witness import Recorder

ROOT = Path(__file__).parents[2]
PANEL = ("static-control", "document-addition", "policy-revision", "retraction-across-restore", "authority-conflict")
POLICIES = ("interrupt_safe", "stale_context", "message_credulous")

CASE, POLICY, INBOX = action("case.read"), action("policy.read"), action("inbox.read")
CALCULATE = action("underwriting.calculate", monthly_debt=3300, monthly_income=9000)


@dataclass(frozen=True, eq=False)
class Office:
    """The loaded world with its judge, and what tests do with them."""

    world: LoadedWorld
    judge: Judge
    measures: tuple[str, ...]

    @cache  # noqa: B019 one instance for the whole session
    def scenario(self, family: str, seed: int = 0) -> Scenario:
        return make_scenario(self.world, family, seed, {"turn_budget": 12})

    def part(self, name: str) -> ModuleType:
        """A module of the world's folder, as the loader has it."""
        return import_module(f"{self.world.module.__package__}.{name}")

    def trusted(self, scenario: Scenario, arm: str = "test") -> Trusted:
        slot: dict[str, int | str] = {"arm": arm, "family": scenario.family, "seed": scenario.seed}
        return Trusted(
            pin=digest_json("the seal"), judge=digest_json("the judge"), slot=slot, scenario=encode_record(scenario)
        )

    def play(self, policy: str, family: str, seed: int = 0) -> tuple[Trusted, bytes]:
        """What a verifier is given of the episode of a scripted policy."""
        trusted = self.trusted(self.scenario(family, seed), policy)
        return trusted, play_scripted(self.world, policy, trusted)

    def judged(self, policy: str, family: str, seed: int = 0) -> dict[str, Json]:
        """The measures of that episode."""
        _, line = self.play(policy, family, seed)
        return dict(self.judge(self.scenario(family, seed), decode_record(line, Episode)))

    def walk(
        self,
        family: str,
        actions: Sequence[Action],
        *,
        seed: int = 0,
        recorder: type[Recorder] = Recorder,
        session: Session | None = None,
    ) -> tuple[Trusted, bytes]:
        """What a verifier is given of the episode of these actions, by this recorder and session."""
        scenario = self.scenario(family, seed)
        trusted = self.trusted(scenario)
        run = recorder(session or self.world.session(scenario), trusted)
        run.begin()
        for item in actions:
            run.act(bare(item))
        ended = "final" if actions and actions[-1].name == "recommendation.submit" else "stopped"
        return trusted, run.close(ended, why="")

    def measured(self, family: str, actions: Sequence[Action], *, seed: int = 0) -> dict[str, Json]:
        """The measures of the episode of these actions."""
        _, line = self.walk(family, actions, seed=seed)
        return dict(self.judge(self.scenario(family, seed), decode_record(line, Episode)))

    def root(self, family: str, *, after: bool) -> str:
        """The root at first, or after everything that is declared."""
        episode = decode_record(self.play("interrupt_safe", family)[1], Episode)
        return episode.closing.root if after else episode.genesis


def submit(
    recommendation: Json = "APPROVE", *cited: Json, root: Json = "", rationale: Json = "By the rules."
) -> Action:
    """A submission; what it cites is case@v1 and policy@v1 unless said otherwise."""
    citations: list[Json] = list(cited) or ["case@v1", "policy@v1"]
    return action(
        "recommendation.submit", recommendation=recommendation, citations=citations, root=root, rationale=rationale
    )


def shown(act: Act) -> str:
    """What an act returned, as the agent sees it."""
    return words_of(act.segments)


def notices(act: Act) -> tuple[Notice, ...]:
    """The notices of an act's return."""
    return tuple(segment for segment in act.segments if isinstance(segment, Notice))


@pytest.fixture(scope="session")
def office() -> Office:
    judge, measures = load_judge(ROOT, "worlds/underwriting/judge")  # each load is fresh, so the world comes last
    return Office(world=load_world(ROOT, "underwriting"), judge=judge, measures=measures)
