"""What a plan rules out of an answer, value by value; that a record closes with its own digest."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealkit.wire.canon import decode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Trusted
from sealkit.wire.recorded import (
    Answer,
    BinaryForm,
    CountForm,
    Form,
    FromCommand,
    Recorded,
    ScoreForm,
    Usage,
    answer_faults,
    measured,
    record_answer,
    recorded_digest,
)
from sealkit.wire.records import Json
from tests.wire.sample import ANSWER, ASSIGNMENT, PIN, RECORDED, SLOT

BINARY, COUNT = BinaryForm(unit=None), CountForm(unit=None)
SCORE = ScoreForm(unit=None, low="-1", high="2", step="0.5")
EACH = BinaryForm(unit="fault")


def of_measure(form: Form, value: Json) -> list[str]:
    asked = msgspec.structs.replace(ASSIGNMENT, measures={"m": (form,)})
    answer = msgspec.structs.replace(ANSWER, measures={"m": value})
    return [f"{where}: found {found}, due {due}" for where, found, due in answer_faults(asked, answer)]


def faults(**changes: Any) -> list[str]:
    answer = msgspec.structs.replace(ANSWER, **changes)
    return [f"{where}: found {found}, due {due}" for where, found, due in answer_faults(ASSIGNMENT, answer)]


def test_an_answer_that_fits_has_no_faults_kept_or_not() -> None:
    assert faults() == [] == list(answer_faults(ASSIGNMENT, RECORDED))


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (BINARY, 0), (BINARY, 1), (BINARY, "1"), (BINARY, None), (COUNT, 0), (COUNT, 2**53 - 1), (COUNT, "7"),
        (SCORE, -1), (SCORE, "-0.5"), (SCORE, 2), (SCORE, "1.50"), (EACH, None), (EACH, {}), (EACH, {"a": 1, "b": None}),
    ],
)  # fmt: skip
def test_values_that_a_measure_may_have(form: Form, value: Json) -> None:
    assert of_measure(form, value) == []


@pytest.mark.parametrize(
    ("form", "value", "says"),
    [
        (BINARY, 2, "m: found 2, due 0 or 1"),
        (BINARY, "0.5", "m: found 0.5, due 0 or 1"),
        (BINARY, True, "m: found True, due an integer, a decimal string or null"),
        (BINARY, "1e0", "m: found '1e0', due an integer, a decimal string or null"),
        (BINARY, "NaN", "m: found 'NaN', due an integer, a decimal string or null"),
        (BINARY, {"a": 1}, "m: found {'a': 1}, due an integer, a decimal string or null"),
        (BINARY, ["x" * 100], "m: found ['" + "x" * 57 + "…, due an integer, a decimal string or null"),
        (COUNT, -1, "m: found -1, due a whole number from 0 on"),
        (COUNT, "1.5", "m: found 1.5, due a whole number from 0 on"),
        (COUNT, str(2**53), f"m: found {2**53}, due a whole number from 0 on"),
        (SCORE, "2.5", "m: found 2.5, due -1 to 2 in steps of 0.5"),
        (SCORE, "0.25", "m: found 0.25, due -1 to 2 in steps of 0.5"),
        (EACH, 1, "m: found 1, due a mapping with a value for each fault"),
        (EACH, {"a": 1, "b": 3}, "m.b: found 3, due 0 or 1"),
    ],
)
def test_values_that_a_measure_may_not_have(form: Form, value: Json, says: str) -> None:
    assert of_measure(form, value) == [f"measures.{says}"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"ended": "won"}, ["ended: found 'won', due one of final, provider_error, refusal"]),
        ({"measures": {"correct": 1}}, ["measures.share: found nothing, due a value: the plan declares it"]),
        ({"measures": {}, "ended": "provider_error"}, []),
        ({"measures": ANSWER.measures | {"x": 1}}, ["measures.x: found a measure, due none of that name: the plan declares no such measure"]),
        ({"measures": {"correct": 9}, "ended": "provider_error"}, ["measures.correct: found 9, due 0 or 1"]),
        ({"transcript": ()}, ["transcript: found nothing, due what was said and done, at least one entry"]),
        ({"transcript": (), "ended": "refusal"}, []),
        ({"models": {}}, ["models.solver: found nothing, due the model toy-1"]),
        ({"models": {}, "usage": Usage(calls=0, input_tokens=0, output_tokens=None)}, []),
        ({"models": {"solver": "toy-2"}}, ["models.solver: found 'toy-2', due the model toy-1"]),
        ({"models": {"solver": "toy-1", "x": "y"}}, ["models.x: found a model, due none: the arm uses no such role"]),
        ({"usage": Usage(calls=2, input_tokens=1, output_tokens=80)}, []),
        ({"usage": Usage(calls=2, input_tokens=1, output_tokens=81)}, ["usage.output_tokens: found 81, due at most 80, from 2 calls"]),
        ({"usage": Usage(calls=0, input_tokens=1, output_tokens=0)}, ["usage.calls: found 0, due at least 1: tokens were used"]),
    ],
)  # fmt: skip
def test_what_else_the_plan_rules_out(changes: dict[str, Any], says: list[str]) -> None:
    assert faults(**changes) == says


def test_an_arm_without_a_model_makes_no_calls() -> None:
    asked = msgspec.structs.replace(ASSIGNMENT, models={})
    found = answer_faults(asked, msgspec.structs.replace(ANSWER, models={}))
    assert list(found) == [("usage.calls", "2", "0: the arm uses no model")]


def test_a_measure_that_two_metrics_read_has_both_forms() -> None:
    asked = msgspec.structs.replace(ASSIGNMENT, measures={"m": (BINARY, COUNT)})
    answer = msgspec.structs.replace(ANSWER, measures={"m": 2})
    assert [due for _, _, due in answer_faults(asked, answer)] == ["0 or 1"]


def test_usage_counts_among_what_was_measured() -> None:
    assert measured(RECORDED) == {**ANSWER.measures, "calls": 2, "input_tokens": 17, "output_tokens": None}


words = st.text(max_size=30)


@given(words, words, st.dictionaries(st.sampled_from(["a", "b"]), words))
def test_a_record_closes_with_its_own_digest(why: str, says: str, more: dict[str, str]) -> None:
    """Also where the transcript holds what looks like that member."""
    entry: dict[str, Json] = {"content": says, "record": "sha256:" + "-" * 64, "more": dict(more)}
    answer = Answer(
        transcript=(entry,), measures={}, usage=Usage(calls=0, input_tokens=None, output_tokens=None), models={},
        ended="final", why=why,
    )  # fmt: skip
    trusted = Trusted(pin=PIN, judge="", slot=SLOT, scenario=b"an assignment")
    line = record_answer(trusted, answer, FromCommand(answer=digest_bytes(b"")))
    record = decode_record(line, Recorded)
    assert record.closing.record == recorded_digest(line, record.closing.record)
    assert record.assignment == digest_bytes(b"an assignment")
