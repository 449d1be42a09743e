"""What each claim stands on, and the sentences that follow from a change."""

from __future__ import annotations

import pytest

from sealkit.plan.load import Plan, open_plan_bytes
from sealkit.plan.schema import Spec
from sealkit.seal.commitment import Changed, FileChange
from sealkit.seal.foundations import (
    BESIDE,
    COMPUTED,
    WHOLE,
    effect_on_claims,
    foundations,
    made_exploratory,
    made_to_say,
    moved_claims,
    moved_hypotheses,
    moved_under_claims,
    under_hypothesis,
)
from sealkit.seal.in_force import COMPLETE, LOOKED, PHASES, TRIED, WHEN
from sealkit.wire.events import Phase
from tests.plan.trees import FILES

V1 = FILES["v1"].read_bytes()
EVERYTHING = FILES["everything"].read_bytes()
HELPS, FEWER, DIAGNOSIS, FAMILIES = (
    "enforced-revalidation-helps", "fewer-avoidable-stale-actions", "log-helps-diagnosis", "gains-sit-in-three-families",
)  # fmt: skip
ALL = {HELPS, FEWER, DIAGNOSIS, FAMILIES}


def plan(data: bytes = V1) -> Plan:
    return open_plan_bytes(data, "plans/v1.yaml")


def edited(*edits: tuple[str, str], data: bytes = V1) -> Plan:
    for old, new in edits:
        assert old.encode() in data, old
        data = data.replace(old.encode(), new.encode(), 1)
    return plan(data)


def test_a_claim_stands_on_what_its_rules_read() -> None:
    found = {f"{section}.{name}" for section, name in foundations(plan().spec, DIAGNOSIS) if name}
    assert found == {
        "claims.log-helps-diagnosis", "hypotheses.H2", "effects.diag", "effects.task", "methods.paired",
        "populations.change", "metrics.named_and_timed", "metrics.success", "readings.reader",
    }  # fmt: skip
    one = {f"{section}.{name}" for section, name in foundations(plan().spec, HELPS) if name}
    assert one == {
        "claims.enforced-revalidation-helps", "hypotheses.H1", "effects.dc", "effects.ca", "methods.paired",
        "populations.change", "metrics.success",
    }  # fmt: skip
    assert foundations(plan().spec, "no-such-claim") == frozenset()


def test_a_difference_stands_on_both_of_its_effects_and_a_ratio_on_both_of_its_metrics() -> None:
    need = "{hypothesis: gate, verdict: [supported]}"
    data = EVERYTHING.replace(need.encode(), b"{hypothesis: rest, verdict: [supported]}", 1)
    found = {f"{section}.{name}" for section, name in foundations(plan(data).spec, "own-helps") if name}
    assert {
        "effects.change",
        "effects.own",
        "effects.models",
        "effects.strata",
        "methods.tally",
        "metrics.acts",
    } <= found
    ratio = data.replace(b"{of: {arm: base}, metric: acts,", b"{of: {arm: base}, metric: tokens_per_act,", 1).replace(
        b"population: all, method: tally", b"population: all, method: mean", 1
    )
    ratio = ratio.replace(b"  tally: {kind: tally}\n", b"", 1)
    found = {f"{section}.{name}" for section, name in foundations(plan(ratio).spec, "own-helps") if name}
    assert {"metrics.tokens_per_act", "metrics.input_tokens", "metrics.acts"} <= found


CHANGES: dict[str, tuple[tuple[str, str], set[str]]] = {
    "a rule of H1": (('"dc.lower > 0 && ca.lower > 0"', '"dc.lower > 0 && ca.lower >= 0"'), {HELPS, FEWER}),
    "a rule of H2": (('"diag.lower > 0 && task', '"diag.lower >= 0 && task'), {DIAGNOSIS}),
    "the words of H3": (("says: gains sit in", "says: gains lie in"), {FAMILIES}),
    "the order of two verdicts": (
        ('contradicted: "dc.upper < 0 || ca.upper < 0"\n      supported: "dc.lower > 0 && ca.lower > 0"',
         'supported: "dc.lower > 0 && ca.lower > 0"\n      contradicted: "dc.upper < 0 || ca.upper < 0"'),
        {HELPS, FEWER},
    ),
    "a metric": (("success: {kind: binary, better: higher, primary: true}", "success: {kind: binary, better: lower}"),
                 {HELPS, DIAGNOSIS, FAMILIES}),
    "another metric": (("avoidable_stale: {kind: count, better: lower", "avoidable_stale: {kind: count, better: higher"),
                       {FEWER}),
    "a metric that is only reported": (("output_tokens: {kind: count, better: lower}",
                                        "output_tokens: {kind: count, better: higher}"), set()),
    "a population": (("gains: {family: [stale_door,", "gains: {family: [noise, stale_door,"), {FAMILIES}),
    "an effect": (("dc: {contrast: D - C,", "dc: {contrast: D - A,"), {HELPS, FEWER}),
    "an effect that is only reported": (("da_all: {contrast: D - A", "da_all: {contrast: D - B"), set()),
    "a method of many": (("seed: 0}\n  rate", "seed: 1}\n  rate"), ALL),
    "a method that only reports use": (("rate: {kind: wilson, level: 0.95}", "rate: {kind: wilson, level: 0.9}"), set()),
    "a reading": (("transcript: {model: diagnoser, arms: [A, B]}", "transcript: {model: diagnoser, arms: all}"),
                  {DIAGNOSIS}),
    "the text of a claim": (("raised task success over", "raised success over"), {HELPS}),
    "what a claim does not show": (("that fewer stale actions are", "whether fewer stale actions are"), {FEWER}),
    "the sample": (("seed: 0..9", "seed: 0..19"), ALL),
    "the order of arms": (("    A: {role: control, scaffold: notes, model: agent, notes_chars: 600}\n", ""), ALL),
    "a model": (("temperature: 0.7", "temperature: 0.8"), ALL),
    "the question": (("Does recording assumptions", "Do recorded assumptions"), ALL),
    "the gates": (("claims_follow_map, ", ""), ALL),
    "how missing outcomes count": (("missing: complete_pairs", "missing: worst_case"), ALL),
    "extra rows": (("reported_only:                         # no rule reads these\n",
                    "reported_only:\n  - {effects: [noise], metrics: [stale], split: null}\n"), set()),
    "the title": (("title: Does a change log", "title: Can a change log"), set()),
    "a confound": (("There is one model sample a cell.", "There is one sample a cell."), set()),
    "power": (("about 8 or more", "about 9 or more"), set()),
    "rights": (("humans: none took part", "humans: one took part"), set()),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_touches_the_claims_that_stand_on_it_and_no_others(name: str) -> None:
    change, due = CHANGES[name]
    if name == "the order of arms":
        line = change[0]
        after = edited((line, ""), ("  family: [stale_door", f"{line}  family: [stale_door"))
    else:
        after = edited(change)
    moved = moved_under_claims(plan(), after)
    assert set(moved) == due
    assert set(moved_under_claims(after, plan())) == due  # whichever came first


def test_nothing_moves_under_the_same_plan() -> None:
    assert moved_under_claims(plan(), edited(("# The belief-log study.", "# A study."))) == {}


def test_a_claim_that_comes_or_goes_is_touched() -> None:
    block = V1[V1.index(b"  log-helps-diagnosis:") : V1.index(b"  gains-sit-in-three-families:")]
    without = plan(V1.replace(block, b""))
    assert moved_under_claims(plan(), without) == {DIAGNOSIS: ("claims.log-helps-diagnosis",)}
    assert moved_under_claims(without, plan()) == {DIAGNOSIS: ("claims.log-helps-diagnosis",)}


ENTRIES = {"claims", "hypotheses", "effects", "metrics", "methods", "populations", "readings"}


def test_every_section_of_the_schema_is_one_that_all_claims_stand_on_or_that_some_do_or_that_none_does() -> None:
    sections = [*WHOLE, *BESIDE, *ENTRIES]
    assert len(sections) == len(set(sections))
    assert set(sections) | {"sealkit"} == set(Spec.__struct_fields__)
    assert set(plan().sections) == set(sections)
    assert set(COMPUTED) <= set(WHOLE)


def test_a_claim_can_stand_on_an_entry_of_every_section_that_has_entries() -> None:
    assert {section for section, name in foundations(plan().spec, DIAGNOSIS) if name} == ENTRIES


def test_a_claim_on_a_corrected_effect_stands_on_every_member_of_the_correction() -> None:
    holm = (
        ("multiplicity: {kind: none}", "multiplicity: {kind: holm, test: mcnemar_exact, members: "
         "[{effect: task, metric: success}, {effect: gains, metric: success}]}"),
        ("task.upper >= 0", "task.upper >= 0 && task.p_adjusted > 0.05"),
        ("    each: {metric: [success, avoidable_stale]}\n    descriptive", "    each: {metric: [success]}\n    descriptive"),
        ("gains.lower > 0 &&", "gains.p_adjusted < 0.05 &&"),
    )  # fmt: skip
    other = ("gains: {contrast: D - A", "gains: {contrast: D - B")
    assert set(moved_under_claims(edited(*holm), edited(*holm, other))) == {DIAGNOSIS, FAMILIES}
    assert set(moved_under_claims(plan(), edited(other))) == {FAMILIES}
    assert "multiplicity" in moved_under_claims(plan(), edited(*holm))[HELPS]


def test_a_hypothesis_is_another_one_if_what_its_verdict_is_computed_from_changed() -> None:
    for name, due in {
        "a rule of H1": ("H1",), "the words of H3": ("H3",), "a population": ("H3",), "the sample": ("H1", "H2", "H3"),
        "a method of many": ("H1", "H2", "H3"), "a reading": ("H2",), "another metric": ("H1", "H3"),
        "the question": (), "the gates": (), "extra rows": (), "the text of a claim": (),
    }.items():  # fmt: skip
        after = edited(CHANGES[name][0])
        assert (moved_hypotheses(plan(), after), moved_hypotheses(after, plan())) == (due, due), name
        assert moved_claims(plan(), after) == ((HELPS,) if name == "the text of a claim" else ()), name
    assert under_hypothesis(plan().spec, "H9") == frozenset()


# --- in words --------------------------------------------------------------------------------------


def changed(**fields: object) -> Changed:
    nothing: dict[str, object] = {
        "protected": (), "described": (), "layout": False, "ruling": (), "harness": (), "scenarios": 0,
    }  # fmt: skip
    return Changed(**{**nothing, **fields})  # type: ignore[arg-type]


FRESH = b"{text: t, stratum: descriptive, needs: [{hypothesis: H2, verdict: [supported]}], does_not_show: u}"
FILE = (FileChange("worlds/house/world.py", "a", "b"),)


@pytest.mark.parametrize("phase", PHASES)
def test_a_protected_change_leaves_claims_until_all_outcomes_are_there_and_says_what_will_be_ruled(
    phase: Phase,
) -> None:
    before, after = plan(), edited(CHANGES["a rule of H2"][0])
    (words,) = effect_on_claims(before, after, changed(protected=("hypotheses",)), phase, 0)
    exploratory, says = made_exploratory(before, after, phase), made_to_say(before, after, phase)
    if phase in COMPLETE:
        assert words == (
            f"claim log-helps-diagnosis is exploratory: {WHEN[phase]}, what it stands on changed: hypotheses.H2"
        )
        assert (exploratory, says) == ({DIAGNOSIS: ("hypotheses.H2",)}, {})
    else:
        tried = ", after the first confirmatory attempt" if phase == "after_first_episode" else ""
        said = f"as amended before the first look{tried}"
        unless = ", where the hypotheses as they were asked come to the same verdicts," if tried else ""
        assert words == f"hypotheses changed: claims stay confirmatory{unless} and say so ({said}): log-helps-diagnosis"
        assert (exploratory, says) == ({}, {DIAGNOSIS: said})


@pytest.mark.parametrize("phase", PHASES)
def test_a_claim_that_was_itself_changed_when_there_could_be_outcomes_is_exploratory(phase: Phase) -> None:
    after = edited(CHANGES["the text of a claim"][0])
    due = {HELPS: (f"claims.{HELPS}",)} if phase in TRIED else {}
    assert made_exploratory(plan(), after, phase) == due
    assert set(made_to_say(plan(), after, phase)) == ({HELPS} if not due else set())
    new = plan(V1.replace(b"claims:\n", b"claims:\n  fresh: " + FRESH + b"\n", 1))
    assert set(made_exploratory(plan(), new, phase)) == ({"fresh"} if phase in TRIED else set())


def test_extra_rows_after_the_look_leave_every_claim() -> None:
    after = edited(CHANGES["extra rows"][0])
    words = effect_on_claims(plan(), after, changed(protected=("reported_only",)), "after_analysis", 0)
    assert words == (
        "reported_only changed after the first look: no claim stands on what changed, claims stay as they are",
    )


def test_what_is_dropped_after_the_look_is_told() -> None:
    block = V1[V1.index(b"  log-helps-diagnosis:") : V1.index(b"  gains-sit-in-three-families:")]
    words = effect_on_claims(
        plan(), plan(V1.replace(block, b"")), changed(protected=("claims",)), "after_first_look", 0
    )
    assert words == ("claim log-helps-diagnosis was dropped after the first look, and stays listed",)


@pytest.mark.parametrize("phase", PHASES)
def test_code_and_reruns_are_told_by_phase(phase: Phase) -> None:
    ruling = " ".join(effect_on_claims(plan(), plan(), changed(ruling=FILE), phase, 0))
    assert ("the code of every pin" in ruling) is (phase in TRIED)
    assert ("every claim is exploratory" in ruling) is (phase in LOOKED)
    harness = " ".join(effect_on_claims(plan(), plan(), changed(harness=FILE), phase, 0))
    assert ("come to under each pin alone" in harness) is (phase not in ("before_any_episode", "after_smoke"))
    reruns = " ".join(effect_on_claims(plan(), plan(), changed(), phase, 3))
    assert reruns.startswith("3 blocks are run again in every arm, chosen without outcomes")
    assert "another verdict is exploratory" in reruns
    assert effect_on_claims(plan(), plan(), changed(described=("title",)), phase, 0) == ("claims stay as they are",)
