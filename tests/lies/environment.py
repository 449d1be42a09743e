"""Rows 1 to 3: the world does not do what contracts and rules say, or does what they do not."""

from __future__ import annotations

from collections.abc import Sequence

from sealkit.wire.contract import Values, effect
from sealkit.wire.declared import Contract
from sealkit.wire.episode import Action, Delta
from sealkit.wire.records import Patch
from sealkit.world.sdk import Told, add, replace
from sealkit.world.witness import Recorder
from tests.lies.stage import DONE, FERN, FULL, ROSE, WAIT, Evidence, World, lie, look, stage, without


def world_that_occurs(change: dict[str, Patch]) -> type[World]:
    """A world that applies another patch for the contracts named."""

    class Occurring(World):
        def occur(self, contract: Contract, effect: Patch) -> None:
            super().occur(contract, change.get(contract.id, effect))

    return Occurring


@lie(1, "witness", "environment")
def effect_not_applied() -> Evidence:
    """It is logged as fired and announced, and the state never changes."""
    return stage(world_that_occurs({"rain": ()}))


@lie(1, "witness", "environment")
def effect_not_applied_and_not_logged() -> Evidence:
    """The recorder forgets a contract that is due: no delta, no receipt, no notice."""

    class Forgetful(Recorder):
        def _apply(self, contract: Contract, values: Values, k: int, head: str) -> Delta:
            raise AssertionError("never reached for rain")

        def _occur(self, k: int, action: Action, head: str) -> list[Delta]:
            if k == 2:
                self.applied["rain"] = k
            self._apply = super()._apply  # type: ignore[method-assign]
            return super()._occur(k, action, head)

    return stage(recorder=Forgetful)


@lie(1, "witness", "environment")
def effect_not_applied_but_logged_as_declared() -> Evidence:
    """The log repeats the declaration; only the roots tell the truth."""
    return stage(world_that_occurs({"rain": ()}), log_as_declared("rain"))


def log_as_declared(*ids: str) -> type[Recorder]:
    """A recorder that writes down what the contract says, not what the world did."""

    class Parrot(Recorder):
        def _apply(self, contract: Contract, values: Values, k: int, head: str) -> Delta:
            delta = super()._apply(contract, values, k, head)
            return Delta(cause=delta.cause, ops=effect(contract, values)) if contract.id in ids else delta

    return Parrot


@lie(1, "witness", "environment")
def effect_applied_twice() -> Evidence:
    """A retry appends the hose a second time."""

    class Twice(World):
        def occur(self, contract: Contract, effect: Patch) -> None:
            super().occur(contract, effect)
            if contract.id == "rumour":
                super().occur(contract, effect)

    return stage(Twice)


@lie(1, "witness", "environment")
def effect_applied_again_later() -> Evidence:
    """The same occurrence, with a second receipt, two acts later; no restore lies between."""
    return stage(recorder=applied_again("rumour", 5))


@lie(1, "witness", "environment")
def notice_only_contract_applied_again_later() -> Evidence:
    """The second application changes nothing, and is still one too many."""
    return stage(recorder=applied_again("visit", 9))


@lie(1, "witness", "environment")
def effect_applied_again_at_once() -> Evidence:
    """Twice at the same boundary, behind contracts that come later in the manifest."""
    return stage(recorder=applied_again("rain", 2))


def applied_again(id: str, act: int) -> type[Recorder]:
    """A recorder that applies a contract once more after this act."""

    class Again(Recorder):
        def _occur(self, k: int, action: Action, head: str) -> list[Delta]:
            deltas = super()._occur(k, action, head)
            if k == act:
                again = next(item for item in self.scenario.contracts if item.id == id)
                deltas.append(self._apply(again, {"looks": 2, "level": 3}, k, head))
            return deltas

    return Again


@lie(1, "witness", "environment")
def effect_of_other_value() -> Evidence:
    """Snow where rain is declared."""
    return stage(world_that_occurs({"rain": (replace("/sky/now", "snow"),)}))


@lie(1, "witness", "environment")
def effect_of_other_type() -> Evidence:
    """True where 1 is declared: Python holds them equal."""
    return stage(world_that_occurs({"seedling": (add("/bench/moss", {"wet": True}),)}), actions=(look("sky"), DONE))


@lie(1, "witness", "environment")
def effect_on_other_target() -> Evidence:
    """The valve shuts where the door should."""
    return stage(world_that_occurs({"lock": (replace("/tank/valve", "locked"),)}))


@lie(1, "witness", "environment")
def effect_partial() -> Evidence:
    """The door is locked, and the spade is still there."""
    return stage(world_that_occurs({"lock": (replace("/shed/door", "locked"),)}))


@lie(1, "witness", "environment")
def effect_of_a_contract_never_declared() -> Evidence:
    """A change at a boundary under a name of its own, with delta and root."""

    class Extra(Recorder):
        def _occur(self, k: int, action: Action, head: str) -> list[Delta]:
            deltas = super()._occur(k, action, head)
            if k == 3:
                ops = (replace("/sky/now", "green"),)
                World.occur(self.session, self.scenario.contracts[0], ops)  # type: ignore[arg-type]
                self._take_state()
                deltas.append(Delta(cause="contract:aurora", ops=ops))
            return deltas

    return stage(recorder=Extra)


@lie(2, "witness", "environment")
def change_outside_the_footprint() -> Evidence:
    """A look that shuts the valve."""

    class Handy(World):
        def act(self, action: Action) -> Sequence[Told]:
            told = super().act(action)
            if self.now == 2:
                self.here["tank"]["valve"] = "stuck"
            return told

    return stage(Handy)


@lie(2, "witness", "environment")
def change_before_the_first_act() -> Evidence:
    """Act 0 is nobody's act, and it has a delta."""

    class Early(Recorder):
        def _record(self, move, delta, told, prev):  # type: ignore[no-untyped-def]
            if not self.acts:
                self.session.here["sky"]["now"] = "pink"  # type: ignore[attr-defined]
                delta = self._moved_by_act()
            return super()._record(move, delta, told, prev)

    return stage(recorder=Early)


@lie(2, "witness", "environment")
def change_by_an_action_without_footprint() -> Evidence:
    """An action that nobody declared fills the tank."""

    class Magic(World):
        def act(self, action: Action) -> Sequence[Told]:
            told = super().act(action)
            if action.name == "pray":
                self.here["tank"]["level"] = 7
            return told

    return stage(Magic, actions=(Action(name="pray", args={}), DONE))


@lie(3, "replay", "environment")
def change_inside_the_footprint_that_rules_forbid() -> Evidence:
    """One unit of water makes the rose three units wet."""

    class Generous(World):
        def act(self, action: Action) -> Sequence[Told]:
            told = super().act(action)
            if action == ROSE:
                self.here["bench"]["rose"]["wet"] += 2
            return told

    return stage(Generous, actions=(WAIT, ROSE, WAIT, DONE), within=without("plain", "leak", "lock"))


@lie(1, "witness", "environment")
def effect_computed_wrong() -> Evidence:
    """A leak of two units where the rule says one."""

    class Leaky(World):
        def occur(self, contract: Contract, effect: Patch) -> None:
            if contract.id == "leak":
                effect = (replace("/tank/level", self.here["tank"]["level"] - 2),)
            super().occur(contract, effect)

    return stage(Leaky, actions=(FERN, *FULL[1:]))
