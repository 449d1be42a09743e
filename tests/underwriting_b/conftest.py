"""Episodes at the underwriting desk of Study B, run by the real recorder, from the loader's own copies."""

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
from sealkit.wire.episode import Action, Episode, Trusted
from sealkit.wire.records import Json
from sealkit.wire.trace import bare
from sealkit.world.loader import LoadedWorld, load_judge, load_world, make_scenario
from sealkit.world.sdk import Judge, action
from sealkit.world.witness import Recorder

ROOT = Path(__file__).parents[2]
POLICIES = ("faithful", "stale", "credulous", "rash")
LEVELS = (
    "phase-intake", "phase-evidence", "phase-metric", "phase-decision", "phase-submission", "ladder-a1", "ladder-a2",
    "ladder-a3", "ladder-a4", "ladder-a5",
)  # fmt: skip
DELIVERIES = ("pushed", "inbox")
CONTROL = "undisturbed"
FIXTURES = (1103, 1217, 1429, 1699, 1877)  # `spec/universe.md`, Study B

CASE, POLICY, INBOX, OPEN = (
    action(f"{name}") for name in ("case.read", "policy.read", "inbox.read", "submission.open")
)
DRAFT = action("recommendation.draft", recommendation="APPROVE")


@dataclass(frozen=True, eq=False)
class Desk:
    """The loaded world with its judge, and what tests do with them."""

    world: LoadedWorld
    judge: Judge
    measures: tuple[str, ...]

    @cache  # noqa: B019 one instance for the whole session
    def scenario(self, family: str, seed: int = 1103) -> Scenario:
        return make_scenario(self.world, family, seed, self.world.trial_params)

    def part(self, name: str) -> ModuleType:
        """A module of the world's folder, as the loader has it."""
        return import_module(f"{self.world.module.__package__}.{name}")

    def trusted(self, scenario: Scenario, arm: str = "test") -> Trusted:
        slot: dict[str, int | str] = {"arm": arm, "family": scenario.family, "seed": scenario.seed}
        return Trusted(
            pin=digest_json("the seal"), judge=digest_json("the judge"), slot=slot, scenario=encode_record(scenario)
        )

    def play(self, policy: str, family: str, seed: int = 1103) -> tuple[Trusted, bytes]:
        """What a verifier is given of the episode of a scripted policy."""
        trusted = self.trusted(self.scenario(family, seed), policy)
        return trusted, play_scripted(self.world, policy, trusted)

    def judged(self, policy: str, family: str, seed: int = 1103) -> dict[str, Json]:
        """The measures of that episode."""
        _, line = self.play(policy, family, seed)
        return dict(self.judge(self.scenario(family, seed), decode_record(line, Episode)))

    def walk(self, family: str, actions: Sequence[Action], *, seed: int = 1103) -> tuple[Trusted, bytes]:
        """What a verifier is given of the episode of these actions."""
        scenario = self.scenario(family, seed)
        trusted = self.trusted(scenario)
        run = Recorder(self.world.session(scenario), trusted)
        run.begin()
        for item in actions:
            run.act(bare(item))
        ended = "final" if actions and actions[-1].name == "recommendation.submit" else "stopped"
        return trusted, run.close(ended, why="")

    def episode(self, family: str, actions: Sequence[Action], *, seed: int = 1103) -> Episode:
        """The episode of these actions."""
        return decode_record(self.walk(family, actions, seed=seed)[1], Episode)

    def measured(self, family: str, actions: Sequence[Action], *, seed: int = 1103) -> dict[str, Json]:
        """The measures of the episode of these actions."""
        return dict(self.judge(self.scenario(family, seed), self.episode(family, actions, seed=seed)))

    def calculate(self, seed: int = 1103, *, more: int = 0) -> Action:
        """The calculation for the case of a seed, or one with `more` debt."""
        figures = self.part("editions").case_of(seed)
        debt, income = int(figures["monthly_debt"]) + more, int(figures["monthly_income"])
        return action("underwriting.calculate", monthly_debt=debt, monthly_income=income)

    def submit(self, family: str, recommendation: Json, *cited: Json, seed: int = 1103, root: str = "") -> Action:
        """A submission; what it cites is case@v1 and policy@v1, the root that at first, unless said otherwise."""
        citations: list[Json] = list(cited) or ["case@v1", "policy@v1"]
        root = root or self.part("files").root_of(self.scenario(family, seed).genesis)
        return action(
            "recommendation.submit", recommendation=recommendation, citations=citations, root=root, rationale="Rules."
        )


@pytest.fixture(scope="session")
def desk() -> Desk:
    judge, measures = load_judge(ROOT, "worlds/underwriting_b/judge")  # each load is fresh, so the world comes last
    return Desk(world=load_world(ROOT, "underwriting_b"), judge=judge, measures=measures)
