"""Digests of a trace: components, roots, heads, starts, and the record digest that closes an episode.

>>> components = {"doors": component_digest("doors", {"d0": "open"})}
>>> root_digest(components)
'sha256:b8c32dcacda3173854fa114b298a9921e4746331b723d89d8c8576ef3e6a1899'

The record digest is over the episode's own line with the one member `"record":"…",` cut out, so anyone
can recompute it with an editor and `sha256sum`. Where the same text stands twice, the last place counts: an
agent may write such a member into its arguments, which stand before the closing.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sealkit.wire.canon import digest_record, encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Act, Action, Component, Episode, Head, Judged, Move, Root, Start, Trusted
from sealkit.wire.records import Json, Patch

BEGIN = Action(name="begin", args={})
# An act that uses a turn and does nothing: a reply that could not be read, or an action that an arm blocked.
NOOP = "noop"
BLOCKED = "blocked"
RESERVED = frozenset({BEGIN.name, NOOP})

# While the digest is not known, its place holds what no other value of a record can be taken for.
_BLANK = "sha256:" + "-" * 64


def noop(why: str, say: str) -> Action:
    """An act that leaves the world alone, for the reason `why` (one word); the agent is told `say`."""
    return Action(name=NOOP, args={"say": say, "why": why})


def blocked(say: str) -> Action:
    """The act of an arm that holds back what its agent wanted to do."""
    return noop(BLOCKED, say)


def is_blocked(action: Action) -> bool:
    """Whether the action is one that `blocked` made."""
    say = action.args.get("say")
    return isinstance(say, str) and action == blocked(say)


def bare(action: Action) -> Move:
    """The move of an agent that asks no model and keeps nothing."""
    return Move(action=action, calls=(), memory={})


def component_digest(name: str, value: Json) -> str:
    """The digest of one component of the material state."""
    return digest_record(Component(name=name, value=value))


def component_digests(state: Mapping[str, Json]) -> dict[str, str]:
    """The digest of every component, by name."""
    return {name: component_digest(name, value) for name, value in state.items()}


def root_digest(components: Mapping[str, str]) -> str:
    """The root over component digests."""
    return digest_record(Root(components=dict(components)))


def start_digest(trusted: Trusted, genesis_root: str) -> str:
    """The identity of an episode: its pin, slot, scenario and genesis."""
    scenario = digest_bytes(trusted.scenario)
    return digest_record(Start(pin=trusted.pin, slot=trusted.slot, scenario=scenario, genesis=genesis_root))


def head_digest(n: int, action: Action, delta: Patch, prev: str) -> str:
    """The trace head of act `n`: everything before it and its own effect, before any contract applies."""
    return digest_record(Head(n=n, action=action, delta=delta, prev=prev))


def judged_digest(scenario: str, last: Act, root: str) -> str:
    """The digest of what the judge is given: the scenario, the whole trace, the final root."""
    return digest_record(Judged(scenario=scenario, trace=digest_record(last), root=root))


def close_record(episode: Episode) -> bytes:
    """The episode's line, with its record digest filled in; what `episode.closing.record` held is ignored."""
    blank = msgspec.structs.replace(episode, closing=msgspec.structs.replace(episode.closing, record=_BLANK))
    line = encode_record(blank)
    digest = record_digest(line, _BLANK)
    before, _, after = line.rpartition(_member(_BLANK))
    return before + _member(digest) + after


def record_digest(line: bytes, claimed: str) -> str:
    """The digest of an episode's line without the member that claims `claimed`."""
    before, _, after = line.rpartition(_member(claimed) + b",")
    return digest_bytes(before + after)


def _member(digest: str) -> bytes:
    return b'"record":"%s"' % digest.encode()
