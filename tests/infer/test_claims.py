"""Every status that a claim can have, and which one wins where several would apply."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from msgspec.structs import replace

from sealkit.infer.claims import NO_RESERVATIONS, ClaimRuling, Reservations, rule_claims
from sealkit.infer.verdicts import NOT_ESTIMABLE, Verdict
from sealkit.plan.ruling import Claim, Need
from sealkit.plan.schema import Spec
from tests.infer.told import house

H1, H2 = Need(hypothesis="H1", metric="success", verdict=("supported",)), Need(hypothesis="H2", verdict=("supported",))


@cache
def spec_of(*needs: Need, other: bool = False) -> Spec:
    claims = {"it-helps": Claim(text="It helps.", stratum="confirmatory", needs=needs, does_not_show="why")}
    if other:
        one = Claim(text="It helped once.", stratum="descriptive", needs=H1, does_not_show="ever")
        claims = {"aside": one, **claims}
    return replace(house().spec, claims=claims)


def verdicts(h1: str | None, h2: str | None = None) -> tuple[Verdict, ...]:
    found = (("H1", "success", h1), ("H2", None, h2))
    return tuple(Verdict(name, metric, word, None, "") for name, metric, word in found if word is not None)


def ruled(h1: str | None, h2: str | None = None, *, held: Reservations = NO_RESERVATIONS) -> ClaimRuling:
    """The claim that needs H1 on success, and H2 too where a verdict of it is told."""
    needs = (H1,) if h2 is None else (H1, H2)
    (ruling,) = rule_claims(spec_of(*needs), verdicts(h1, None if h2 == "unmeasured" else h2), held)
    return ruling


@pytest.mark.parametrize(
    ("h1", "h2", "status"),
    [
        ("supported", None, "supported"),
        ("supported", "supported", "supported"),
        ("contradicted", None, "contradicted"),
        ("supported", "contradicted", "contradicted"),
        ("partly", "contradicted", "contradicted"),
        ("partly", None, "partly"),
        ("supported", "partly", "partly"),
        ("not_shown", "partly", "partly"),
        ("not_shown", None, "not_shown"),
        ("supported", "not_shown", "not_shown"),
        ("another_word", None, "not_shown"),
        (NOT_ESTIMABLE, None, "not_estimable"),
        ("supported", NOT_ESTIMABLE, "not_estimable"),
        ("contradicted", NOT_ESTIMABLE, "not_estimable"),
        (None, None, "unmeasured"),
        ("supported", "unmeasured", "unmeasured"),
        ("contradicted", "unmeasured", "unmeasured"),
        (NOT_ESTIMABLE, "unmeasured", "unmeasured"),
    ],
)
def test_the_status_that_verdicts_give(h1: str | None, h2: str | None, status: str) -> None:
    ruling = ruled(h1, h2)
    assert (ruling.status, ruling.why) == (status, "")


def test_a_claim_may_rest_on_any_verdict_that_its_plan_accepts() -> None:
    either = replace(H1, verdict=("supported", "partly"))
    (ruling,) = rule_claims(spec_of(either), verdicts("partly"), NO_RESERVATIONS)
    assert ruling.status == "supported"
    against = replace(H1, verdict=("contradicted",))  # "it does not help" is a claim too
    (ruling,) = rule_claims(spec_of(against), verdicts("contradicted"), NO_RESERVATIONS)
    assert ruling.status == "supported"


def test_a_need_is_met_by_its_own_metric_alone() -> None:
    other = Verdict("H1", "avoidable_stale", "supported", None, "")
    (ruling,) = rule_claims(spec_of(H1), [other], NO_RESERVATIONS)
    assert ruling.status == "unmeasured"
    assert [met.found for met in ruling.needs] == [None]
    assert not ruling.needs[0].met


def test_withheld_comes_before_exploratory_and_both_before_any_verdict() -> None:
    words = ("supported", "contradicted", "partly", "not_shown", NOT_ESTIMABLE, None)
    for h1, (withheld, exploratory) in product(words, ((True, True), (True, False), (False, True))):
        held = Reservations(
            withheld={"it-helps": "too many exclusions"} if withheld else {},
            exploratory={"it-helps": "amended after the look"} if exploratory else {},
        )
        ruling = ruled(h1, held=held)
        assert ruling.status == ("withheld" if withheld else "exploratory")
        assert ruling.why == ("too many exclusions" if withheld else "amended after the look")


def test_a_reservation_holds_back_its_own_claim_or_all_of_them() -> None:
    spec = spec_of(H1, other=True)
    one = rule_claims(spec, verdicts("supported"), Reservations(withheld={"aside": "withdrawn"}, exploratory={}))
    assert [(ruling.name, ruling.status) for ruling in one] == [("aside", "withheld"), ("it-helps", "supported")]
    every = rule_claims(
        spec, verdicts("supported"), Reservations(withheld={"*": "a gate"}, exploratory={"aside": "late"})
    )
    assert [(ruling.status, ruling.why) for ruling in every] == [("withheld", "a gate")] * 2
    own = rule_claims(
        spec, verdicts("supported"), Reservations(withheld={"*": "a gate", "aside": "withdrawn"}, exploratory={})
    )
    assert [ruling.why for ruling in own] == ["withdrawn", "a gate"]


def test_the_needs_of_a_held_back_claim_still_say_what_was_found() -> None:
    ruling = ruled("supported", "not_shown", held=Reservations(withheld={"*": "a gate"}, exploratory={}))
    assert [(met.found, met.met) for met in ruling.needs] == [("supported", True), ("not_shown", False)]
