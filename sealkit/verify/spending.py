"""Holds what requests were charged against the plan's budget, by the rule that the gateway follows.

A request may leave if the most that it can use is left then. What its reply states may still be more: a server counts
by a template of its own. That takes a run beyond its budget, and is no fault of who ran it; no request may follow that
knew of it. An attempt knows of its own earlier requests, a process of all that its journal had when it was opened. Of
others that were under way nothing is known; of each of them no more counts, until then, than was set aside for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Need, Spent, added, cost_microusd, spent_on
from sealkit.agents.models.request import model_of
from sealkit.plan.schema import Spec
from sealkit.wire.attempts import Calls, by_try
from sealkit.wire.calls import Call
from sealkit.wire.errors import SealkitError, UntrustedError

_NOTHING = Need(tokens=0, cost_microusd=0)


@dataclass(slots=True)
class Spending:
    """What all calls so far used, and by how much replies went beyond what was set aside for their requests."""

    bodies: Blobs
    withheld: frozenset[str]  # the digests of bodies that are taken out
    spent: Spent = field(default_factory=Spent)
    beyond: Spent = field(default_factory=Spent)  # requests whose reply states more than was set aside, and how much
    _new: Spent = field(default_factory=Spent)  # of `beyond`, what no process knew when it was opened
    _apart: Spent = field(default_factory=Spent)  # of `beyond`, what no attempt knew: no shard knows of another

    def open(self) -> None:
        """A process has read what was used before it, all of it."""
        self._new = Spent()

    def take(self, calls: Calls, spec: Spec, where: str, *, of_shard: bool) -> None:
        """Count these calls; `UntrustedError` for one that the gateway does not let go under this plan's budget."""
        for _, group in by_try(calls):
            for n, call in enumerate(group):
                beyond, known = self._beyond(call, spec), n + 1 < len(group)
                self.spent = added(self.spent, spent_on((call,)))
                unknown = Spent(0, beyond.tokens, beyond.cost_microusd or 0)
                self._hold(spec, added(self._apart if of_shard else self._new, unknown), where)
                if beyond != _NOTHING and call.request not in self.withheld:
                    self.beyond = added(self.beyond, Spent(1, unknown.tokens, unknown.cost_microusd))
                if not known:
                    self._new, self._apart = added(self._new, unknown), added(self._apart, unknown)

    def _hold(self, spec: Spec, unknown: Spent, where: str) -> None:
        spent, budget = self.spent, spec.sample.budget
        for name, used, more, most in (
            ("calls", spent.calls, 0, budget.calls),
            ("tokens", spent.tokens, unknown.tokens, budget.tokens),
            ("micro-USD", spent.cost_microusd, unknown.cost_microusd, budget.cost_microusd),
        ):
            if most is not None and used - more > most:
                what = f"evidence: {used} {name} by then, and the plan's budget is {most}"
                raise UntrustedError(what, where=where, remedy="the gateway refuses such a call")

    def _beyond(self, call: Call, spec: Spec) -> Need:
        """How much more a reply states than was set aside for its request; all of it if the request is withheld."""
        if call.input_tokens is None or call.output_tokens is None:
            return _NOTHING
        if call.request in self.withheld:
            return Need(call.charged_tokens, call.cost_microusd)
        try:
            model = model_of(spec, call.role, call.slot)
            size = len(self.bodies.get(call.request))
        except (SealkitError, KeyError):
            return _NOTHING  # not the plan's, or its request is gone: told where the call itself is held
        price = model.price_per_million_tokens
        stated = call.input_tokens + call.output_tokens
        cost = cost_microusd(price, call.input_tokens, call.output_tokens) or 0
        aside = cost_microusd(price, size, model.max_output_tokens) or 0
        return Need(
            tokens=max(0, min(stated, call.charged_tokens) - size - model.max_output_tokens),
            cost_microusd=max(0, min(cost, call.cost_microusd or 0) - aside),
        )
