"""What a run may use: calls, tokens and money, reserved before a request leaves and settled when it is over.

A request is reserved at the most that it should use: one token for every byte of its body (a token is at least a byte),
and all the output tokens that the plan allows. It leaves only if that much is left. Its reply may still state more, for
a server counts by a template of its own: that is charged as it is stated, and may take the run beyond its budget; no
request leaves after it that knew of it. `verify.spending` holds recorded calls to this.

>>> budget = Budget(Limits(calls=2, tokens=1000, cost_microusd=None), Spent())
>>> budget.reserve(Need(tokens=700, cost_microusd=None))
>>> budget.refusal(Need(tokens=700, cost_microusd=None))
'this request may use 700 tokens, and 300 of 1000 are left'
>>> budget.settle(Need(tokens=700, cost_microusd=None), tokens=90, cost_microusd=None)
>>> budget.refusal(Need(tokens=700, cost_microusd=None)) is None
True
>>> budget.spent
Spent(calls=1, tokens=90, cost_microusd=0, unmet=0)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sealkit.agents.models.errors import PauseError
from sealkit.plan.actors import Price
from sealkit.wire.calls import Call

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of `sample.budget`; None sets no bound."""

    calls: int
    tokens: int | None
    cost_microusd: int | None


@dataclass(frozen=True, slots=True)
class Spent:
    """What requests that are over have used; `unmet` of the calls found nobody at the endpoint."""

    calls: int = 0
    tokens: int = 0
    cost_microusd: int = 0
    unmet: int = 0


@dataclass(frozen=True, slots=True)
class Need:
    """The most that one request can use; no cost if the plan has no price."""

    tokens: int
    cost_microusd: int | None


def spent_on(calls: Iterable[Call]) -> Spent:
    """What recorded requests used, for a run that goes on."""
    count = tokens = cost = unmet = 0
    for call in calls:
        count += 1
        tokens += call.charged_tokens
        cost += call.cost_microusd or 0
        unmet += call.status == "no_connection"
    return Spent(count, tokens, cost, unmet)


def added(one: Spent, other: Spent) -> Spent:
    """What both used."""
    return Spent(
        one.calls + other.calls, one.tokens + other.tokens, one.cost_microusd + other.cost_microusd,
        one.unmet + other.unmet,
    )  # fmt: skip


def cost_microusd(price: Price | None, input_tokens: int, output_tokens: int) -> int | None:
    """What so many tokens cost, rounded up to a whole micro-dollar; None without a price."""
    if price is None:
        return None
    exact = input_tokens * price.input_microusd + output_tokens * price.output_microusd
    return -(-exact // _MILLION)


class Budget:
    """Keeps within `limits` what one process uses after `spent`."""

    def __init__(self, limits: Limits, spent: Spent) -> None:
        self.limits = limits
        self.spent = spent
        self._calls = self._tokens = self._cost = 0  # reserved by requests under way

    def refusal(self, need: Need) -> str | None:
        """Why a request that may use `need` must not leave; None if it may."""
        limits, spent, cost = self.limits, self.spent, need.cost_microusd
        if spent.calls + self._calls >= limits.calls:
            return f"{limits.calls} calls are used or under way, and no more are allowed"
        for name, most, used, asked in (
            ("tokens", limits.tokens, spent.tokens + self._tokens, need.tokens),
            ("micro-USD", limits.cost_microusd, spent.cost_microusd + self._cost, cost),
        ):
            if most is None:
                continue
            if asked is None:
                return f"the budget bounds {name}, and the model has no price"
            if used + asked > most:
                return f"this request may use {asked} {name}, and {max(0, most - used)} of {most} are left"
        return None

    def reserve(self, need: Need) -> None:
        """Set `need` aside; `PauseError` if that is more than is left."""
        why = self.refusal(need)
        if why is not None:
            raise PauseError("budget", why, remedy="sample.budget in the plan bounds it; raising it is an amendment")
        self._calls += 1
        self._tokens += need.tokens
        self._cost += need.cost_microusd or 0

    def release(self, need: Need) -> None:
        """Give back what was set aside for a request that did not leave."""
        self._calls -= 1
        self._tokens -= need.tokens
        self._cost -= need.cost_microusd or 0

    def settle(self, need: Need, *, tokens: int, cost_microusd: int | None, unmet: bool = False) -> None:
        """Replace what was set aside by what was used."""
        self.release(need)
        spent = self.spent
        self.spent = added(spent, Spent(1, tokens, cost_microusd or 0, int(unmet)))
