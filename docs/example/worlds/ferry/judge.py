"""Success: the parcel lies at the pier where it is due."""

from sealkit.wire.patch import apply

MEASURES = ("success", "acts")


def judge(scenario, episode):
    state = dict(scenario.genesis)
    for act in episode.acts:
        for ops in (act.delta, *(delta.ops for delta in act.deltas)):
            state = apply(state, ops)
    return {"success": int(state["parcel"]["at"] == state["order"]["due"]), "acts": len(episode.acts) - 1}
