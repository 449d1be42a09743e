"""What attempts that are played elsewhere may use: each has its share of what is left, and no two have the same part.

An attempt that is handed out gets what is left of the plan's budget and is set aside for nobody, divided by the slots
that have no episode yet, but at most by four times the attempts that workers have room for. So an attempt may use more
than the mean, and enough is kept back for workers that come later and for attempts that are begun again. What it did
not use is there again when it has ended. Shares that are out never add up to more than is left, whatever workers do:

>>> purse = Purse(Limits(calls=90, tokens=None, cost_microusd=None), Spent(calls=10), slots=50)
>>> first, second = purse.hand_out(room=2), purse.hand_out(room=2)
>>> first.calls, second.calls               # 80 for 8, 70 for 8
(10, 8)
>>> purse.settle(first, Spent(calls=4), kept=True)
>>> purse.hand_out(room=2).calls            # 90, less 14 that are spent and 8 that are out, for 8
8
>>> purse.spent.calls
14
"""

from __future__ import annotations

from typing import Final

from sealkit.agents.models.budget import Limits, Spent, added
from sealkit.run.shardcalls import share_of_limits

_KEPT_BACK: Final = 4


class Purse:
    """Keeps within `limits` what attempts use after `spent`; so many `slots` have no episode yet."""

    def __init__(self, limits: Limits, spent: Spent, slots: int) -> None:
        self.spent = spent
        self._limits = limits
        self._slots = slots
        self._out = Spent()  # set aside for attempts under way

    def hand_out(self, *, room: int) -> Limits:
        """The share of the next attempt, where workers have room for so many."""
        parts = max(1, min(self._slots, _KEPT_BACK * room))
        share = share_of_limits(self._limits, added(self.spent, self._out), slots=1, of=parts)
        self._out = added(self._out, _most(share))
        return share

    def settle(self, share: Limits, spent: Spent, *, kept: bool) -> None:
        """The attempt with this share has used so much; whether it left its slot's episode."""
        out, most = self._out, _most(share)
        self._out = Spent(out.calls - most.calls, out.tokens - most.tokens, out.cost_microusd - most.cost_microusd)
        self.spent = added(self.spent, spent)
        self._slots -= kept


def _most(share: Limits) -> Spent:
    return Spent(share.calls, share.tokens or 0, share.cost_microusd or 0)
