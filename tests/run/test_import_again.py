"""An arm that pleases less is not drawn anew from a second log: under its own name it is refused, under another it says so."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sealkit.publish.claims.drawn_anew import drawn_anew
from sealkit.seal.sealed import open_seal
from tests.run.inspect_plan import LOGS, PLAN, make_study
from tests.studies import call, ok

CLAIM = "{c: {text: Steps help., stratum: confirmatory, needs: {hypothesis: H1, verdict: [supported]}, does_not_show: more.}}"
GAIN = "{gain: {contrast: stepwise - terse, join: [family, seed], population: sums, method: paired, metric: correct}}"
# A question of the control alone, to which everybody knows the answer.
TRIVIAL = {
    GAIN: "{some: {of: {arm: terse}, population: sums, method: rate, metric: correct}}",
    "{paired: {kind: tango, level: 0.95}}": "{rate: {kind: wilson, level: 0.95}}",
    'supported: "gain.estimate > 0"': 'supported: "some.n > 1"',
}
# The same of both arms.
TRIVIAL_OF_BOTH = {'supported: "gain.estimate > 0"': 'supported: "gain.n > 1"'}
FEWER = {"seed: [1, 2]": "seed: [1]"}


def renamed(name: str) -> dict[str, str]:
    return {"    stepwise: {role": f"    {name}: {{role", "contrast: stepwise": f"contrast: {name}"}


class Writing:
    """The plan of a study, sealed and amended with these words in the place of others."""

    def __init__(self, folder: Path, instead: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.study = make_study(folder / "study")
        text = (self.study / PLAN).read_text()
        self.text = text.replace("exclusion_cap_per_arm: 0.5", "exclusion_cap_per_arm: 0").replace(
            "claims: {}", f"claims: {CLAIM}"
        )
        self.write(instead or {})
        ok(call("seal", PLAN, cwd=self.study))

    def write(self, instead: Mapping[str, str]) -> None:
        text = self.text
        for old, new in instead.items():
            text = text.replace(old, new)
        (self.study / PLAN).write_text(text)

    def amend(self, *instead: Mapping[str, str]) -> Any:
        self.write({old: new for one in instead for old, new in one.items()})
        return call("amend", PLAN, "--reason", "better words", cwd=self.study)

    def draw(self, arm: str, values: str) -> None:
        """A log of the arm with this outcome of every sample."""
        log = json.loads((LOGS / "stepwise.json").read_bytes())
        log["eval"]["eval_id"] = f"{arm}-{values}"
        for sample, value in zip(log["samples"], values, strict=False):
            sample["scores"]["match"]["value"] = value
        path = self.folder / f"{arm}-{values}.json"
        path.write_text(json.dumps(log))
        ok(call("import", "inspect", path, PLAN, "--arm", arm, cwd=self.study))

    def held(self) -> dict[str, str]:
        sealed = open_seal(self.study / PLAN)
        history = sealed.history()
        for _ in history:
            pass
        assert history.dropped is not None
        sealed.close()
        return drawn_anew(sealed, history.dropped.groups)


def test_the_sealed_plan_put_back_word_for_word_takes_no_second_log(tmp_path: Path) -> None:
    plan = Writing(tmp_path)
    plan.draw("stepwise", "IIIIII")
    assert plan.amend(TRIVIAL, renamed("steps")).code == 0
    refused = plan.amend({})
    assert refused.code == 2, refused.err
    assert (
        "6 slots had an episode when an amendment dropped them, and would be drawn again: arm=stepwise," in refused.err
    )
    assert "a new plan, under an id and in a file of its own" in refused.err


def test_an_arm_under_another_name_says_so(tmp_path: Path) -> None:
    plan = Writing(tmp_path)
    plan.draw("stepwise", "IIIIII")
    said = plan.amend(renamed("steps"))
    assert (
        said.code == 0
        and "claim c is exploratory: after the first confirmatory attempt, this rests it on arm steps" in said.out
    )
    assert plan.held() == {
        "c": "amendment 1, after the first confirmatory attempt, rests it on arm steps, on which it did not rest before"
    }


@pytest.mark.slow
@pytest.mark.parametrize("between", [TRIVIAL, TRIVIAL_OF_BOTH])
@pytest.mark.parametrize("cycles", [1, 2])
def test_whatever_was_asked_in_between(between: Mapping[str, str], cycles: int, tmp_path: Path) -> None:
    """What was sealed is a dummy that always wins, and each name in between is asked what everybody knows."""
    plan = Writing(tmp_path)
    plan.draw("stepwise", "CCCCCC")
    for cycle in range(cycles):
        assert plan.amend(between, renamed(f"steps{cycle}")).code == 0
        plan.draw(f"steps{cycle}", "IIIIII")
    assert plan.amend(renamed("last")).code == 0
    plan.draw("last", "CCCCCC")
    ok(call("import", "inspect", LOGS / "terse.eval", PLAN, "--arm", "terse", cwd=plan.study))
    said = ok(call("analyse", PLAN, cwd=plan.study)).out
    assert re.search(r"H1 +supported", said) and "exploratory: claim c: amendment" in said
    ok(call("publish", PLAN, cwd=plan.study))
    [edition] = (plan.study / "publications").iterdir()
    assert json.loads((edition / "results.json").read_bytes())["claims"][0]["status"] == "exploratory"
    for where in (edition, plan.study):
        ok(call("verify", where, "--no-remember", cwd=plan.study))


def test_dropped_seeds_of_which_nobody_asked_what_is_asked_now(tmp_path: Path) -> None:
    plan = Writing(tmp_path, TRIVIAL_OF_BOTH)
    plan.draw("stepwise", "CICICI")
    assert plan.amend(FEWER).code == 0  # and from here on it is asked in earnest
    why = "amendment 1, after the first confirmatory attempt, dropped 3 slots that had an episode, and no plan that had them asked"
    assert plan.held()["c"].startswith(why)


def test_dropped_seeds_of_which_the_same_was_asked_are_ruled_on(tmp_path: Path) -> None:
    plan = Writing(tmp_path)
    plan.draw("stepwise", "CICICI")
    assert plan.amend(FEWER).code == 0
    assert plan.held() == {}
