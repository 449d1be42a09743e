"""Admission: every combination of verdicts, and the counts of every arm."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealkit.infer.admit import Admission, ArmTally, admit, tally
from sealkit.wire.verdict import ORIGINS, Abstained, Accepted, Errored, Origin, Reason, Rejected, Verdict


def rejected(*origins: Origin) -> Rejected:
    return Rejected(reasons=tuple(Reason(origin=one, where=f"at {one}", found="a", due="b") for one in origins))


ACCEPTED, ABSTAINED, ERRORED = Accepted(), Abstained(missing="the world"), Errored(message="it broke")
KINDS: dict[str, Verdict] = {
    "accepted": ACCEPTED, "rejected": rejected("boundary"), "abstained": ABSTAINED, "errored": ERRORED,
}  # fmt: skip


@pytest.mark.parametrize("kinds", [*product(KINDS, repeat=1), *product(KINDS, repeat=2), *product(KINDS, repeat=3)])
def test_every_combination_of_verdicts(kinds: tuple[str, ...]) -> None:
    found = admit({f"v{number}": KINDS[kind] for number, kind in enumerate(kinds)})
    if "rejected" in kinds:
        assert (found.status, found.origin) == ("excluded", "boundary")
    elif set(kinds) == {"accepted"}:
        assert found == Admission("admitted", None, "")
    else:
        assert (found.status, found.origin) == ("errored", None)


def test_no_verifier_admits_nothing() -> None:
    assert admit({}) == Admission("errored", None, "no verifier ruled")


def test_no_episode_is_missing() -> None:
    assert admit(None) == Admission("missing", None, "no episode")


def test_the_words_say_who_and_what() -> None:
    assert admit({"witness": ACCEPTED, "replay": ABSTAINED}).why == "replay abstained: the world"
    assert admit({"witness": ERRORED}).why == "witness failed: it broke"
    assert admit({"witness": rejected("authority")}).why == "witness: authority at at authority: found a, due b"


VERDICTS = st.one_of(
    st.just(ACCEPTED), st.just(ABSTAINED), st.just(ERRORED),
    st.lists(st.sampled_from(ORIGINS), min_size=1, max_size=4).map(lambda origins: rejected(*origins)),
)  # fmt: skip


@given(st.lists(VERDICTS, min_size=1, max_size=4))
def test_any_rejection_excludes_under_the_first_faulty_origin_of_all(verdicts: list[Verdict]) -> None:
    found = admit({f"v{number}": verdict for number, verdict in enumerate(verdicts)})
    origins = [reason.origin for one in verdicts if isinstance(one, Rejected) for reason in one.reasons]
    assert (found.status == "excluded") == bool(origins)
    assert found.origin == (min(origins, key=ORIGINS.index) if origins else None)
    assert not origins or str(found.origin) in found.why
    assert (found.status == "admitted") == all(isinstance(verdict, Accepted) for verdict in verdicts)


@given(st.lists(VERDICTS, min_size=1, max_size=4))
def test_the_order_of_the_verifiers_changes_no_status(verdicts: list[Verdict]) -> None:
    rulings = {
        (found.status, found.origin)
        for order in permutations(range(len(verdicts)))
        if (found := admit({f"v{number}": verdicts[number] for number in order}))
    }
    assert len(rulings) == 1


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.one_of(st.none(), st.lists(VERDICTS, max_size=2)))))
def test_every_slot_of_an_arm_is_counted_once(ruled: list[tuple[str, list[Verdict] | None]]) -> None:
    rulings = [
        ({"arm": arm}, admit(None if found is None else {str(n): one for n, one in enumerate(found)}))
        for arm, found in ruled
    ]
    arms = tally(rulings)
    for arm in ("a", "b"):
        mine = [admission for slot, admission in rulings if slot["arm"] == arm]
        counted = arms.get(arm, ArmTally())
        assert counted.slots == len(mine)
        assert counted.admitted == sum(one.status == "admitted" for one in mine)
        assert counted.errored == sum(one.status == "errored" for one in mine)
        assert counted.missing == sum(one.status == "missing" for one in mine)
        assert counted.excluded == {
            origin: count for origin in ORIGINS if (count := sum(one.origin == origin for one in mine))
        }
