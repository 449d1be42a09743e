"""Digests of a trace, against an episode put together by hand."""

from __future__ import annotations

import msgspec
import pytest

from sealkit.wire.canon import decode_record, digest_record, encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Action, Closing, Episode, Trusted
from sealkit.wire.trace import (
    BEGIN,
    bare,
    blocked,
    close_record,
    component_digest,
    component_digests,
    head_digest,
    is_blocked,
    judged_digest,
    noop,
    record_digest,
    root_digest,
    start_digest,
)
from tests.wire import sample

TRUSTED = Trusted(pin=sample.PIN, judge=sample.JUDGE, slot=sample.SLOT, scenario=encode_record(sample.SCENARIO))


def test_each_digest_is_that_of_its_preimage() -> None:
    digests = component_digests(sample.GENESIS)
    assert digests == {name: component_digest(name, value) for name, value in sample.GENESIS.items()}
    assert root_digest(digests) == digest_record(sample.ROOT) == sample.START.genesis
    assert root_digest(dict(reversed(digests.items()))) == sample.START.genesis
    assert start_digest(TRUSTED, sample.START.genesis) == digest_record(sample.START)
    for act in sample.EPISODE.acts:
        assert head_digest(act.n, act.action, act.delta, act.prev) == act.head
    assert judged_digest(sample.START.scenario, sample.ACT_3, sample.ACT_3.root) == digest_record(sample.JUDGED)
    assert sample.ACT_0.action == BEGIN


def test_closing_fills_in_the_digest_of_the_rest() -> None:
    line = encode_record(sample.EPISODE)
    assert close_record(sample.EPISODE) == close_record(sample.episode("anything")) == line
    cut = line.replace(f'"record":"{sample.EPISODE.closing.record}",'.encode(), b"")
    assert len(line) - len(cut) == len('"record":"sha256:",') + 64
    assert record_digest(line, sample.EPISODE.closing.record) == digest_bytes(cut) == sample.EPISODE.closing.record


@pytest.mark.parametrize("claimed", ["sha256:" + "-" * 64, sample.EPISODE.closing.record])
def test_an_agent_cannot_move_the_digest_into_its_arguments(claimed: str) -> None:
    """It may write the very member that is cut: the closing's own is cut all the same, and its act stays as it was."""
    action = Action(name="pick", args={"record": claimed, "why": ""})
    acts = (sample.ACT_0, msgspec.structs.replace(sample.ACT_1, action=action), *sample.EPISODE.acts[2:])
    line = close_record(msgspec.structs.replace(sample.EPISODE, acts=acts))
    episode = decode_record(line, Episode)
    assert episode.acts == acts
    assert record_digest(line, episode.closing.record) == episode.closing.record
    without = msgspec.json.decode(line)
    del without["closing"]["record"]
    assert episode.closing.record == digest_bytes(msgspec.json.encode(without, order="sorted"))


def test_a_record_digest_that_is_claimed_nowhere_is_that_of_the_line() -> None:
    assert record_digest(b'{"a":1}', "sha256:0") == digest_bytes(b'{"a":1}')
    assert "record" in Closing.__struct_fields__


def test_an_act_that_leaves_the_world_alone_says_why() -> None:
    assert noop("refusal", "Go on.") == Action(name="noop", args={"say": "Go on.", "why": "refusal"})
    assert is_blocked(blocked("The door was shut since.")) and not is_blocked(noop("refusal", "Go on."))
    assert not is_blocked(Action(name="noop", args={"why": "blocked"}))
    assert bare(blocked("No.")).action == blocked("No.") and bare(blocked("No.")).memory == {}
