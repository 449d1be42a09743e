"""Forks that the witness is expected to miss, so that coverage can fail. Each has one variant."""

from __future__ import annotations

import json
from typing import Any, cast

from sealkit.wire.canon import digest_json, encode_value
from sealkit.wire.declared import WhenShown
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.patch import apply
from sealkit.wire.records import Add, Json, Op, Replace
from sealkit.world.draws import Draws

from .executor import Edits, carry_out
from .parent import InapplicableError, Parent
from .places import one, ops_at, ops_of, other_value, scalars


def x1(parent: Parent, variant: str, draws: Draws) -> tuple[Edits, Trusted]:
    """A consistent lie: who owns the root changes the declaration, the effect and every digest together."""
    scenario: dict[str, Any] = json.loads(parent.trusted.scenario)
    for event in draws.shuffled([event for event in parent.events if event.moves]):
        if isinstance(event.contract.tell.due, WhenShown):
            continue  # which reading discloses it is said in a rule: then the lie would have to be told there too
        index = next(i for i, item in enumerate(scenario["contracts"]) if item["id"] == event.contract.id)
        if scenario["contracts"][index]["then"] != ops_of(parent, event):
            continue  # computed when it happens: then the lie would have to be told in a rule
        for at, value in draws.shuffled(tuple(scalars(cast(Json, ops_of(parent, event))))):
            if at.split("/")[2:3] != ["value"]:
                continue
            ops = apply(cast(Json, ops_of(parent, event)), (Replace(path=at, value=other_value(value)),))
            told = json.loads(encode_value(cast(Json, scenario)))
            told["contracts"][index]["then"] = ops
            line = encode_value(told)
            edits = Edits(
                executed=(Replace(path=ops_at(event), value=ops),),
                recorded=(
                    Replace(path="/scenario", value=digest_bytes(line)),
                    Replace(
                        path=f"/receipts/{event.receipt}/contract/digest", value=digest_json(told["contracts"][index])
                    ),
                ),
            )
            try:
                carry_out(parent, edits)
            except (InapplicableError, MalformedError):
                continue
            trusted = Trusted(
                pin=parent.trusted.pin, judge=parent.trusted.judge, slot=parent.trusted.slot, scenario=line
            )
            return edits, trusted
    raise InapplicableError("no event with an effect that is written out in its contract")


def x3(parent: Parent, variant: str, draws: Draws) -> Edits:
    """A residue outside the root shows in free text, where no root looks."""
    places = [
        (act["n"], s, segment["text"])
        for act in parent.document["acts"]
        for s, segment in enumerate(act["segments"])
        if segment["kind"] == "text"
    ]
    n, s, text = one(places, draws, "no free text")
    return Edits(recorded=(Replace(path=f"/acts/{n}/segments/{s}/text", value=f"{text}(from an earlier session)\n"),))


def x4(parent: Parent, variant: str, draws: Draws) -> Edits:
    """A notice is delivered, and dropped from the context before the model reads it."""
    found = [event.notice for event in parent.events if event.notice is not None]
    n, s = one(found, draws, "no notice of an event")
    edits: tuple[Op, ...] = (Add(path=f"/acts/{n}/memory/context", value={"dropped": [s]}),)
    return Edits(recorded=edits)
