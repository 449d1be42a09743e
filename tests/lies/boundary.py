"""Row 4: the right effect, at another act, inside an act, or beyond the end of the episode."""

from __future__ import annotations

from collections.abc import Sequence

from sealkit.wire.contract import Sighting, see
from sealkit.wire.declared import Contract
from sealkit.wire.episode import Action, Delta
from sealkit.wire.records import Patch
from sealkit.world.sdk import Told
from sealkit.world.witness import Recorder
from tests.lies.environment import log_as_declared
from tests.lies.stage import DONE, FILL, FULL, WAIT, Evidence, World, lie, look, stage


def applied_at(id: str, act: int, *, due: int) -> type[Recorder]:
    """A recorder that applies a contract after this act, and holds it back or forgets it at its own."""

    class Shifted(Recorder):
        def _occur(self, k: int, action: Action, head: str) -> list[Delta]:
            held = next(item for item in self.scenario.contracts if item.id == id)
            at = Sighting(state=self.state, action=action, shown=self.readings)
            if k == due and id not in self.applied:
                self.applied[id] = -100  # held back: it counts as applied, and nothing follows from it
            deltas = super()._occur(k, action, head)
            if k == act:
                self.applied.pop(id, None)
                deltas.append(self._apply(held, see(held, at), k, head))
            return deltas

    return Shifted


@lie(4, "witness", "boundary")
def effect_an_act_early() -> Evidence:
    """Rain after act 1."""
    return stage(recorder=applied_at("rain", 1, due=2))


@lie(4, "witness", "boundary")
def effect_an_act_late() -> Evidence:
    """Rain after act 3."""
    return stage(recorder=applied_at("rain", 3, due=2))


@lie(4, "witness", "boundary")
def effect_by_rule_an_act_late() -> Evidence:
    """The leak comes an act after the watering that it is due at, and the lock follows it."""
    return stage(recorder=applied_at("leak", 4, due=3))


@lie(4, "witness", "boundary")
def effect_by_rule_an_act_early() -> Evidence:
    """The rumour is there before the shed was seen open twice."""
    return stage(recorder=applied_at("rumour", 1, due=3))


@lie(4, "witness", "boundary")
def notice_only_contract_an_act_late() -> Evidence:
    """Nothing changes, and it happens after another act than declared."""
    return stage(recorder=applied_at("visit", 8, due=7))


@lie(4, "witness", "boundary")
def effect_before_the_agents_first_act_missed() -> Evidence:
    """The seedling stands there an act late."""
    return stage(recorder=applied_at("seedling", 1, due=0))


@lie(4, "witness", "boundary")
def effect_late_inside_the_next_act() -> Evidence:
    """The world logs the contract in time, and changes its state while the next act runs."""

    class Lazy(World):
        owed: tuple[tuple[Contract, Patch], ...] = ()

        def occur(self, contract: Contract, effect: Patch) -> None:
            if contract.id == "rain":
                self.owed = ((contract, effect),)
            else:
                super().occur(contract, effect)

        def act(self, action: Action) -> Sequence[Told]:
            for contract, effect in self.owed:
                super().occur(contract, effect)
            self.owed = ()
            return super().act(action)

    return stage(Lazy)


@lie(4, "witness", "boundary")
def effect_early_inside_an_act() -> Evidence:
    """It rains while act 1 runs; at its own boundary nothing is left to change."""
    return stage(rain_inside(1))


@lie(4, "witness", "boundary")
def effect_inside_the_act_of_its_boundary() -> Evidence:
    """It rains while act 2 runs, before the state that the act leaves."""
    return stage(rain_inside(2))


def rain_inside(n: int) -> type[World]:
    """A world in which it rains while act `n` runs."""

    class Hasty(World):
        def act(self, action: Action) -> Sequence[Told]:
            told = super().act(action)
            if self.now == n:
                self.here["sky"]["now"] = "rain"
            return told

    return Hasty


@lie(4, "witness", "boundary")
def effect_late_and_logged_as_declared() -> Evidence:
    """The log has it in time; the roots have it an act later."""

    class Late(log_as_declared("rain")):  # type: ignore[misc]
        def _apply(self, contract, values, k, head):  # type: ignore[no-untyped-def]
            if contract.id == "rain":
                self.session.held = True
            return super()._apply(contract, values, k, head)

        def _moved_by_act(self) -> Patch:
            ops: Patch = super()._moved_by_act()
            return tuple(op for op in ops if op.path != "/sky/now")

    class Slow(World):
        held = False

        def occur(self, contract: Contract, effect: Patch) -> None:
            if contract.id != "rain":
                super().occur(contract, effect)

        def act(self, action: Action) -> Sequence[Told]:
            if self.held:
                self.here["sky"]["now"] = "rain"
                self.held = False
            return super().act(action)

    return stage(Slow, Late)


@lie(4, "witness", "boundary")
def effect_early_and_logged_as_declared() -> Evidence:
    """The log has it in time; the roots have it an act before."""

    class Tidy(log_as_declared("rain")):  # type: ignore[misc]
        def _moved_by_act(self) -> Patch:
            ops: Patch = super()._moved_by_act()
            return tuple(op for op in ops if op.path != "/sky/now")

    return stage(rain_inside(1), Tidy)


@lie(4, "witness", "boundary")
def effect_of_after_the_end_brought_in() -> Evidence:
    """Dusk is due after act 11; the episode ends after act 4, and it is dark already."""
    return stage(recorder=applied_at("dusk", 4, due=11), actions=(WAIT, WAIT, WAIT, DONE))


@lie(4, "witness", "boundary")
def effect_after_the_last_act() -> Evidence:
    """What is due at the last boundary happens once the trace is closed, and the judge sees it."""

    class Tail(Recorder):
        def _occur(self, k: int, action: Action, head: str) -> list[Delta]:
            if k == 2:
                self.applied["rain"] = k
            return super()._occur(k, action, head)

        def close(self, ended: str, *, why: str) -> bytes:
            rain = next(item for item in self.scenario.contracts if item.id == "rain")
            self._apply(rain, {"level": 4}, len(self.acts), self.acts[-1].head)
            return super().close(ended, why=why)

    return stage(recorder=Tail, actions=(look("sky"), DONE))


@lie(4, "witness", "boundary")
def notice_only_contract_after_the_last_act() -> Evidence:
    """Nothing changes and nothing is told: only its receipt claims an act that there was not."""

    class Tail(Recorder):
        def _occur(self, k: int, action: Action, head: str) -> list[Delta]:
            if k == 7:
                self.applied["visit"] = k
            return super()._occur(k, action, head)

        def close(self, ended: str, *, why: str) -> bytes:
            visit = next(item for item in self.scenario.contracts if item.id == "visit")
            self._apply(visit, {}, len(self.acts), self.acts[-1].head)
            return super().close(ended, why=why)

    return stage(recorder=Tail, actions=(*FULL[:6], DONE))


@lie(4, "witness", "boundary")
def effect_computed_in_time_and_applied_late() -> Evidence:
    """The leak is computed when it is due, and takes place after the tank was filled."""

    class Late(applied_at("leak", 4, due=3)):  # type: ignore[misc]
        def _apply(self, contract, values, k, head):  # type: ignore[no-untyped-def]
            in_time = {"name": "water", "level": 3}
            return super()._apply(contract, in_time if contract.id == "leak" else values, k, head)

    return stage(recorder=Late, actions=(*FULL[:3], FILL, *FULL[4:]))


@lie(4, "witness", "boundary")
def effects_of_one_boundary_in_another_order() -> Evidence:
    """Rain and leak are due together; the leak goes first."""

    class Backwards(Recorder):
        def _occur(self, k: int, action: Action, head: str) -> list[Delta]:
            at = Sighting(state=self.state, action=action, shown=self.readings)
            first = []
            if k == 2:
                leak = next(item for item in self.scenario.contracts if item.id == "leak")
                first = [self._apply(leak, see(leak, at), k, head)]
            return first + super()._occur(k, action, head)

    return stage(recorder=Backwards, actions=(look("shed"), Action(name="water", args={"plant": "fern"}), *FULL[3:]))
