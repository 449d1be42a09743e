"""Editions of studies that were amended or withdrawn: told, built again from their bundle, and never in the old one's place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sealkit.publish.pages.markdown import markdown
from sealkit.publish.pages.page import page as html
from sealkit.wire.canon import encode_value
from tests.amending import OTHER_JUDGE, change
from tests.studies import PLAN, Part, call, ok, plan_text, read


def newest(study: Path) -> Path:
    return max((study / "publications").iterdir(), key=lambda folder: (len(folder.name), folder.name))


def results(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_bytes())


@pytest.fixture
def withdrawn(published: Path) -> Path:
    ok(call("amend", PLAN, "--withdraw", "it-does", "--reason", "the world does not stand for it", cwd=published))
    return published


def test_a_withdrawal_needs_a_new_analysis_and_gives_another_edition(
    withdrawn: Path, edition: Path, state: Path
) -> None:
    before = {path.name: path.read_bytes() for path in edition.iterdir()}
    found = call("publish", PLAN, cwd=withdrawn)
    assert found.code == 2 and "came after the last analysis" in found.err
    ok(call("analyse", PLAN, cwd=withdrawn))
    ok(call("publish", PLAN, cwd=withdrawn))
    folder = newest(withdrawn)
    assert folder.name == f"{edition.name}-2"
    assert {path.name: path.read_bytes() for path in edition.iterdir()} == before
    document = results(folder)
    assert document["claims"][0]["status"] == "withheld"
    assert document["withdrawn"] == {"it-does": "the world does not stand for it"}
    assert "Withdrawn, claim it-does: the world does not stand for it" in (folder / "report.html").read_text()
    assert document["methods"].endswith("1 withdrawal was recorded.")
    ok(call("verify", "receipts", cwd=withdrawn))


@pytest.mark.slow
def test_both_editions_are_built_again_from_their_own_bundles(
    withdrawn: Path, edition: Path, tmp_path: Path, state: Path
) -> None:
    ok(call("analyse", PLAN, cwd=withdrawn))
    ok(call("publish", PLAN, cwd=withdrawn))
    for folder in (edition, newest(withdrawn)):
        alone = Path(shutil.copytree(folder, tmp_path / "stranger" / folder.name))
        assert "was built again from its bundle" in ok(call("verify", alone, "--replay=unsafe", cwd=tmp_path)).out
        assert "were ruled on again" in ok(call("verify", alone, cwd=tmp_path)).out
    said = ok(call("verify", ".", "--replay=unsafe", cwd=withdrawn)).out
    assert f"edition {newest(withdrawn).name} was built again from the study, the same bytes" in said
    assert f"edition {edition.name}: its results.json is that of its `published` entry" in said
    ok(call("amend", PLAN, "--withdraw", "all", "--reason", "none of it stands", cwd=withdrawn))
    said = ok(call("verify", ".", "--replay=unsafe", cwd=withdrawn)).out
    assert f"edition {newest(withdrawn).name} was built again from its bundle, the same bytes" in said


def test_an_amendment_after_the_look_is_told_and_verified(study: Path, tmp_path: Path, state: Path) -> None:
    plan = study / PLAN
    plan.write_text(plan.read_text().replace("says: the oracle succeeds 4 of 4", "says: the oracle never fails"))
    ok(call("amend", PLAN, "--reason", "the sentence was too bare", cwd=study))
    ok(call("analyse", PLAN, cwd=study))
    said = ok(call("publish", PLAN, cwd=study)).out
    assert "0 of 1 claims stand on what was pinned before the first look, 1 are exploratory" in said
    document = results(newest(study))
    assert [claim["status"] for claim in document["claims"]] == ["exploratory"]
    assert "hypotheses.oracle" in document["claims"][0]["why"]
    page = (newest(study) / "report.html").read_text()
    assert "Claims: exploratory" in page and "Claims: validated" not in page
    ok(call("verify", newest(study), "--replay=unsafe", cwd=tmp_path))
    said = ok(call("verify", newest(study), cwd=tmp_path)).out
    assert "what its amendments ask to be measured again (after_amendments" in said
    better = document | {"claims": [document["claims"][0] | {"status": "supported"}]}
    (newest(study) / "results.json").write_bytes(encode_value(better) + b"\n")
    (newest(study) / "report.md").write_text(markdown(better), encoding="utf-8")
    (newest(study) / "report.html").write_text(html(better), encoding="utf-8")
    found = call("verify", newest(study), cwd=tmp_path)
    assert found.code == 1 and "$.claims[0].status is 'supported', due 'exploratory'" in found.err


def test_a_claim_that_an_amendment_moved_and_nobody_marked_closes_its_gate(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = study / PLAN
    plan.write_text(plan.read_text().replace("says: the oracle succeeds 4 of 4", "says: the oracle never fails"))
    ok(call("amend", PLAN, "--reason", "the sentence was too bare", cwd=study))
    ok(call("analyse", PLAN, cwd=study))
    monkeypatch.setattr("sealkit.publish.claims.amended._exploratory", lambda *arguments: {})
    found = call("publish", PLAN, cwd=study)
    assert found.code == 1 and "not marked exploratory: it-does (hypotheses.oracle)" in found.out


@pytest.mark.slow
def test_an_amendment_that_touches_no_claim_is_published_on_its_side_of_the_look(
    study: Path, tmp_path: Path, state: Path
) -> None:
    plan = study / PLAN
    plan.write_text(plan.read_text().replace("title: ", "title: Once more, ", 1))
    ok(call("amend", PLAN, "--reason", "the title was dull", cwd=study))
    ok(call("analyse", PLAN, cwd=study))
    ok(call("publish", PLAN, cwd=study))
    folder = newest(study)
    document = results(folder)
    (row,) = document["amendments"]
    assert (row["number"], row["after_look"], row["reason"]) == (1, True, "the title was dull")
    assert document["claims"][0]["status"] == "supported"
    page = (folder / "report.html").read_text()
    assert "After the first look at outcomes" in page and "the title was dull" in page
    alone = Path(shutil.copytree(folder, tmp_path / "stranger" / folder.name))
    assert "was built again from its bundle" in ok(call("verify", alone, "--replay=unsafe", cwd=tmp_path)).out


# --- what was asked at the look stays listed -------------------------------------------------------


def again(study: Path) -> tuple[Any, Path]:
    """The study after its next amendment, analysis and edition: what results.json says, and its folder."""
    ok(call("amend", PLAN, "--reason", "we thought again", cwd=study))
    ok(call("run", PLAN, "--jobs", "1", cwd=study))
    ok(call("analyse", PLAN, cwd=study))
    folder = study / "publications" / read(ok(call("publish", PLAN, "--json", cwd=study)).out)["edition"]
    return results(folder), folder


@pytest.mark.slow
def test_a_claim_and_a_hypothesis_that_are_dropped_after_the_look_stay_listed(
    study: Path, tmp_path: Path, state: Path
) -> None:
    # What was asked comes out against its authors: the tracker was to fail, and it succeeds.
    plan = study / PLAN
    text = plan.read_text()
    start, end = text.index("  tracker:\n    says:"), text.index("claims:\n")
    renamed = text[:start] + text[start:end].replace("  tracker:", "  follower:", 1) + text[end:]
    plan.write_text(renamed.replace("  it-does:", "  it-succeeds:", 1))
    document, folder = again(study)
    rows = [(claim["name"], claim["status"]) for claim in document["claims"]]
    assert rows == [("it-succeeds", "exploratory"), ("it-does", "withheld")]
    dropped = document["claims"][1]
    assert dropped["text"] == "The oracle succeeded." and dropped["needs"][0]["found"] == "supported"
    assert dropped["why"].startswith(
        "amendment 1, after the first look, dropped or reworded it; here as made under pin"
    )
    (row,) = document["after_amendments"]["earlier"]
    assert (row["hypothesis"], row["verdict"], row["now"], row["amendment"]) == ("tracker", "supported", None, 1)
    asked = {verdict["hypothesis"] for verdict in document["analysis"]["verdicts"]}
    assert asked == {"oracle", "follower"}
    assert "were ruled on again" in ok(call("verify", folder, cwd=tmp_path)).out
    for name in ("report.html", "report.md"):
        report = (folder / name).read_text()
        assert "Asked once there could be outcomes, and dropped or changed by an amendment" in report, name
        assert "the tracker succeeds 4 of 4" in report and "not asked" in report, name
    (gate,) = (gate for gate in document["gates"] if gate["gate"] == "claims_follow_map")
    assert gate["evidence"].endswith("; 1 more, dropped or reworded after the first attempt, stay listed")
    said = ok(call("claims", PLAN, cwd=study)).out
    assert "withheld: it-does" in said
    ok(call("verify", folder, "--replay=unsafe", cwd=tmp_path))


@pytest.mark.slow
def test_a_rule_changed_after_the_look_is_told_with_the_verdict_of_the_old_one(study: Path) -> None:
    plan = study / PLAN
    text = plan.read_text()
    plan.write_text(text.replace('"oracle.x == 4 && oracle.n == 4"', '"oracle.x == 3 && oracle.n == 4"', 1))
    document, _ = again(study)
    (row,) = document["after_amendments"]["earlier"]
    assert (row["hypothesis"], row["verdict"], row["now"]) == ("oracle", "supported", "not_shown")
    plan.write_text(text)  # put back: what is asked today is what was asked then, and the rule between is listed
    document, _ = again(study)
    assert [(row["amendment"], row["verdict"], row["now"]) for row in document["after_amendments"]["earlier"]] == [
        (2, "not_shown", "supported")
    ]
    assert [claim["status"] for claim in document["claims"]] == ["exploratory"]


@pytest.mark.slow
def test_an_arm_dropped_after_the_look_is_still_ruled_on_as_it_was_asked(
    study: Path, tmp_path: Path, state: Path
) -> None:
    plan = study / PLAN
    plan.write_text(plan_text(Part(("oracle",), ("delayed_update",), 2)))
    document, folder = again(study)
    earlier = {row["hypothesis"]: (row["verdict"], row["now"]) for row in document["after_amendments"]["earlier"]}
    assert earlier == {"oracle": ("supported", "supported"), "tracker": ("supported", None)}
    assert document["study"]["slots"] == 2
    ok(call("verify", folder, "--replay=unsafe", cwd=tmp_path))


@pytest.mark.slow
def test_what_was_asked_is_ruled_on_by_its_own_code_where_ruling_code_changed_too(
    study: Path, tmp_path: Path, state: Path
) -> None:
    change(study, *OTHER_JUDGE)  # by which both arms fail in half of their episodes
    change(study, PLAN, "  it-does:", "  it-succeeds:")
    change(study, PLAN, '"oracle.x == 4 && oracle.n == 4"', '"oracle.x >= 1 && oracle.n == 4"')
    document, folder = again(study)
    (row,) = document["after_amendments"]["earlier"]
    assert (row["hypothesis"], row["verdict"], row["now"]) == ("oracle", "supported", "supported")
    assert document["claims"][1]["needs"][0]["found"] == "supported"
    ok(call("verify", folder, "--replay=unsafe", cwd=tmp_path))


@pytest.mark.slow
def test_a_gate_dropped_after_the_look_is_decided_all_the_same(study: Path) -> None:
    change(study, PLAN, ", rights_documented]", "]")
    change(study, PLAN, "model_outputs: none were used", "model_outputs: unknown")
    ok(call("amend", PLAN, "--reason", "nobody asks for rights", cwd=study))
    ok(call("analyse", PLAN, cwd=study))
    found = call("publish", PLAN, "--json", cwd=study)
    assert found.code == 1
    shut = [gate for gate in read(found.out)["gates"] if not gate["open"]]
    assert [gate["gate"] for gate in shut] == ["rights_documented"]
    assert shut[0]["evidence"].endswith(
        "amendment 1, after the first look, left this gate out: it is decided all the same"
    )


@pytest.mark.slow
def test_a_gate_that_came_after_the_look_is_decided_too(study: Path) -> None:
    change(study, PLAN, ", rights_documented]", ", rights_documented, baselines_conform]")
    ok(call("amend", PLAN, "--reason", "baselines should conform", cwd=study))
    ok(call("analyse", PLAN, cwd=study))
    found = call("publish", PLAN, cwd=study)
    assert found.code == 1
    assert "which alone decides this gate; amendment 1, after the first look, added this gate" in found.out
