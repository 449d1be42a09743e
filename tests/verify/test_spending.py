"""What requests used, held against the plan's budget: a reply that states too much passes it, and no request after."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Spent
from sealkit.plan.load import open_plan
from sealkit.plan.schema import Spec
from sealkit.verify.spending import Spending
from sealkit.wire.calls import Call
from sealkit.wire.errors import UntrustedError
from tests.modelled import plan_text

BODY = b"x" * 1000
BUDGET = "{calls: 5, tokens: 20000, cost_microusd: null}"
WHERE = "calls.jsonl"


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    path = tmp_path_factory.mktemp("plan") / "part.yaml"
    path.write_text(plan_text(budget=BUDGET))
    return open_plan(path).spec


@pytest.fixture
def spending(tmp_path: Path) -> Spending:
    return Spending(Blobs(tmp_path / "blobs", inside=tmp_path), frozenset())


def asked(spending: Spending, spec: Spec, *, attempt: int = 1, n: int = 1, tokens: int = 100) -> Call:
    """A call whose request of 1000 bytes is there, and whose reply states so many tokens of input."""
    role = next(iter(spec.models))
    return Call(
        pin="p", stage="confirmatory", slot={"arm": "D"}, attempt=attempt, n=n, purpose="act", role=role, http_try=1,
        request=spending.bodies.put(BODY), response="r", status="complete", model="m", fingerprint=None,
        input_tokens=tokens, output_tokens=0, charged_tokens=tokens, cost_microusd=0, latency_ms=1, waited_ms=0, why="",
    )  # fmt: skip


def take(spending: Spending, spec: Spec, *calls: Call, of_shard: bool = False) -> None:
    spending.take(calls, spec, WHERE, of_shard=of_shard)


def test_a_reply_may_take_a_run_beyond_its_budget_and_is_told(spending: Spending, spec: Spec) -> None:
    take(spending, spec, asked(spending, spec), asked(spending, spec, n=2, tokens=50_000))
    take(spending, spec, asked(spending, spec, attempt=2))  # was under way meanwhile
    aside = 1000 + spec.models[asked(spending, spec).role].max_output_tokens  # type: ignore[union-attr]
    assert spending.spent.tokens == 50_200 and spending.beyond == Spent(1, 50_000 - aside, 0)


def test_no_request_follows_that_knew_of_it(spending: Spending, spec: Spec) -> None:
    with pytest.raises(UntrustedError, match="50100 tokens by then, and the plan's budget is 20000"):
        take(spending, spec, asked(spending, spec, tokens=50_000), asked(spending, spec, n=2))


def test_a_process_knows_what_was_before_it_and_no_shard_of_another(spending: Spending, spec: Spec) -> None:
    take(spending, spec, asked(spending, spec, tokens=50_000))
    spending.open()
    take(spending, spec)  # nothing was asked: paused at once
    take(spending, spec, asked(spending, spec, attempt=2), of_shard=True)
    with pytest.raises(UntrustedError, match="50200 tokens by then"):
        take(spending, spec, asked(spending, spec, attempt=3))


def test_a_charge_that_no_reply_states_has_no_excuse(spending: Spending, spec: Spec) -> None:
    with pytest.raises(UntrustedError, match="the gateway refuses such a call"):
        take(spending, spec, replace(asked(spending, spec), charged_tokens=50_000))


def test_a_request_that_is_withheld_cannot_be_held_to_its_size(spending: Spending, spec: Spec) -> None:
    one = asked(spending, spec, tokens=50_000)
    apart = Spending(spending.bodies, frozenset({one.request}))
    take(apart, spec, one)
    assert apart.spent.tokens == 50_000 and apart.beyond == Spent()
