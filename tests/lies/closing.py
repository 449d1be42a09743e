"""Rows 13 to 15: the judge's input, the identity of the record, and what nobody can see."""

from __future__ import annotations

from msgspec.structs import replace as changed

from sealkit.wire.canon import decode_record, digest_json, digest_record
from sealkit.wire.declared import Contract
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Episode, Judged, Text
from sealkit.wire.records import Json, Patch
from sealkit.wire.trace import bare, close_record
from sealkit.world.sdk import replace
from sealkit.world.witness import Recorder
from tests.lies.stage import DONE, FULL, WAIT, Evidence, World, lie, look, scenario, stage, trust


def closed(**fields: object) -> Evidence:
    """An honest episode with other fields in its closing, and a record digest that fits."""
    trusted, line = stage()
    episode = decode_record(line, Episode)
    return trusted, close_record(changed(episode, closing=changed(episode.closing, **fields)))


# --- row 13 ----------------------------------------------------------------------------------------


@lie(13, "witness", "judgment")
def judge_given_an_earlier_state() -> Evidence:
    """Root and judge's input are those before dusk."""
    _, line = stage()
    episode = decode_record(line, Episode)
    earlier = episode.acts[10].root
    return closed(root=earlier, judged=judged(episode, earlier, len(episode.acts) - 1))


def judged(episode: Episode, root: str, last: int) -> str:
    """The digest of a judge's input made of these."""
    return digest_record(Judged(scenario=episode.scenario, trace=digest_record(episode.acts[last]), root=root))


@lie(13, "witness", "judgment")
def judge_given_an_earlier_state_and_the_root_is_right() -> Evidence:
    _, line = stage()
    episode = decode_record(line, Episode)
    return closed(judged=judged(episode, episode.acts[10].root, len(episode.acts) - 1))


@lie(13, "witness", "judgment")
def judge_given_a_shorter_trace() -> Evidence:
    _, line = stage()
    episode = decode_record(line, Episode)
    return closed(judged=judged(episode, episode.closing.root, 5))


@lie(13, "witness", "judgment")
def another_judge() -> Evidence:
    return closed(judge=digest_json("a kinder judge"))


# --- row 14 ----------------------------------------------------------------------------------------


@lie(14, "witness", "evidence")
def filed_under_another_slot() -> Evidence:
    """The best of two runs, filed under both."""
    trusted, line = stage()
    return changed(trusted, slot={**trusted.slot, "seed": 1}), line


@lie(14, "witness", "evidence")
def filed_under_another_slot_that_looks_alike() -> Evidence:
    """Seed "0" is not seed 0."""
    trusted, line = stage()
    return changed(trusted, slot={**trusted.slot, "seed": "0"}), line


@lie(14, "witness", "evidence")
def filed_under_another_pin() -> Evidence:
    trusted, line = stage()
    return changed(trusted, pin=digest_json("an amendment")), line


@lie(14, "witness", "evidence")
def filed_under_another_scenario() -> Evidence:
    _, line = stage()
    return trust(scenario("calm")), line


@lie(14, "witness", "evidence")
def act_chain_broken() -> Evidence:
    """Act 5 names another act before it, and its head follows."""

    class Broken(Recorder):
        def _record(self, move, delta, told, prev):  # type: ignore[no-untyped-def]
            return super()._record(move, delta, told, digest_json("x") if len(self.acts) == 5 else prev)

    return stage(recorder=Broken)


@lie(14, "witness", "evidence")
def acts_numbered_with_a_gap() -> Evidence:
    class Gapped(Recorder):
        def _record(self, move, delta, told, prev):  # type: ignore[no-untyped-def]
            act = super()._record(move, delta, told, prev)
            if act.n == 6:
                self.acts[-1] = act = changed(act, n=7)
            return act

    return stage(recorder=Gapped)


@lie(14, "witness", "evidence")
def record_cut_at_the_end() -> Evidence:
    """The last acts are gone, and the closing is made anew: `final`, without a final act."""
    return stage(actions=FULL[:9], ended="final")


@lie(14, "witness", "evidence")
def record_cut_and_called_budget() -> Evidence:
    return stage(actions=FULL[:9], ended="budget")


@lie(14, "witness", "evidence")
def record_cut_and_the_closing_kept() -> Evidence:
    trusted, line = stage()
    episode = decode_record(line, Episode)
    return trusted, close_record(changed(episode, acts=episode.acts[:-3]))


@lie(14, "witness", "evidence")
def record_goes_on_after_its_end() -> Evidence:
    return stage(actions=(WAIT, DONE, look("sky"), DONE))


@lie(14, "witness", "evidence")
def record_beyond_the_budget() -> Evidence:
    return stage(actions=(WAIT,) * 15, ended="budget", family="calm")


@lie(14, "witness", "evidence")
def receipt_cut_out() -> Evidence:
    """One receipt is left out, and chain and counts are made anew."""

    class Leaving(Recorder):
        def close(self, ended: str, *, why: str) -> bytes:
            del self.happened[3]
            return super().close(ended, why=why)

    return stage(recorder=Leaving)


@lie(14, "witness", "evidence")
def receipt_of_another_episode() -> Evidence:
    """The receipts were made for another start, everything else for this one."""

    class Borrowed(Recorder):
        def _receipts(self):  # type: ignore[no-untyped-def]
            self.start = digest_json("another start")
            return super()._receipts()

    return stage(recorder=Borrowed)


# --- row 15: declared as misses --------------------------------------------------------------------


@lie(15, "nobody", None)
def consistent_lie_of_the_root_owner() -> Evidence:
    """Contract, scenario, world, roots and receipts all say snow: nothing inside disagrees."""
    whole = scenario("plain")
    rain = next(item for item in whole.contracts if item.id == "rain")
    snow = changed(rain, then=(replace("/sky/now", "snow"),))
    forged = changed(whole, contracts=tuple(snow if item is rain else item for item in whole.contracts))
    return stage(within=forged)


@lie(15, "nobody", None)
def state_outside_the_root() -> Evidence:
    """The world keeps something in a cache of its own across a restore; no root looks there."""

    class Hoarder(World):
        cache: dict[str, Json] = {}  # noqa: RUF012  (shared across episodes: that is the lie)

        def occur(self, contract: Contract, effect: Patch) -> None:
            self.cache[contract.id] = digest_bytes(repr(effect).encode())
            super().occur(contract, effect)

    return stage(Hoarder, family="storm")


@lie(15, "nobody", None)
def external_fact_moved() -> Evidence:
    """The briefing says what was true when it was written. The world it speaks of has moved on."""
    return stage(within=changed(scenario("plain"), briefing="The dam upstream is closed. Say done."))


@lie(15, "nobody", None)
def notice_cut_after_delivery() -> Evidence:
    """The recorder hands the rain's notice over; what stands before the agent cuts it, and the agent waits in vain."""
    trusted = trust(scenario("plain"))
    recorder = Recorder(World(scenario("plain").genesis), trusted)
    act = recorder.begin()
    while len(recorder.acts) <= scenario("plain").max_acts:
        heard = [item.text for item in act.segments if isinstance(item, Text)]
        act = recorder.act(bare(DONE if any("rain" in words for words in heard) else WAIT))
    return trusted, recorder.close("budget", why="")
