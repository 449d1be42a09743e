"""The journal: what an append leaves, what is refused, that it costs the same however long the journal is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sealkit.seal.history import Anchor, open_history
from sealkit.seal.journal import CALLS, EPISODES, HEAD, JOURNAL, Journal, exclusive, read_head, utc
from sealkit.wire.canon import MAX_LINE, encode_record
from sealkit.wire.chain import extend
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import HarnessError, MalformedError, OutOfOrderError, SealkitError, UntrustedError
from sealkit.wire.events import CallLines, EpisodeKept, Looked, Paused, call_lines
from sealkit.wire.journal_head import EMPTY, parse_head
from tests.seal.journals import (
    NOW,
    OPENED,
    PIN,
    SEALED,
    at,
    attempt,
    calls_of,
    episode_line,
    files,
    put,
    read,
    slot,
    start,
)

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study with three episodes: entries 0 sealed, 1 opened, then attempted and episode in turn."""
    journal = start(tmp_path)
    journal.append(OPENED, now=at(0))
    for seed in range(3):
        attempt(journal, seed)
    return tmp_path


def test_what_was_appended_is_read_in_order_with_its_episodes(study: Path) -> None:
    entries = read(study)
    assert [entry.seq for entry, _ in entries] == list(range(8))
    assert [line for _, line in entries if line is not None] == [episode_line(seed) for seed in range(3)]
    kept = entries[3][0].event
    assert isinstance(kept, EpisodeKept)
    assert (kept.slot, kept.attempt, kept.digest) == (slot(0), 1, digest_bytes(episode_line(0)))


def test_head_is_a_readable_record_that_plain_tools_can_check(study: Path) -> None:
    raw = files(study)
    last = raw[JOURNAL].splitlines()[-1]
    expected = (
        b'{"calls_size":0,"count":8,"digest":"%s","episodes_size":%d,"size":%d,"type":"sealkit/journal-head/v1"}\n'
        % (
            digest_bytes(last).encode(),
            len(raw[EPISODES]),
            len(raw[JOURNAL]),
        )
    )
    assert raw[HEAD] == expected


def test_an_append_reads_no_more_of_a_long_journal_than_of_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    pread = os.pread

    def counted(descriptor: int, size: int, offset: int) -> bytes:
        data = pread(descriptor, size, offset)
        reads.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", counted)
    journal = start(tmp_path)
    costs = []
    for count in range(300):
        reads.clear()
        journal.append(Looked(what="a test"), now=NOW)
        if count in (5, 299):
            costs.append(sum(reads))
    assert costs == [2, 2]  # the last byte, twice: a newline


def test_another_writer_is_noticed_and_followed(study: Path) -> None:
    folder = study / "receipts" / "toy"
    one, two = (Journal.open(folder, inside=study) for _ in range(2))
    for second in range(4):
        one.append(Looked(what="one"), now=at(second))
        two.append(Looked(what="two"), now=at(second))
    assert [entry.event.what for entry, _ in read(study)[8:]] == ["one", "two"] * 4  # type: ignore[union-attr]


_WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from sealkit.seal.journal import Journal
from sealkit.wire.events import Looked
from sealkit.wire.digest import digest_bytes
study, name = Path(sys.argv[1]), sys.argv[2]
journal = Journal.open(study / "receipts" / "toy", inside=study)
sys.stdin.read(1)
for number in range(40):
    line = b'{"slot":{"seed":%d},"of":"%s"}' % (number, name.encode())
    journal.append_episode(line, stage="confirmatory", pin=digest_bytes(b"a seal"),
                           slot={"seed": number, "of": name}, attempt=1, now=datetime.now(UTC))
    journal.append(Looked(what=name), now=datetime.now(UTC))
"""


def test_two_processes_append_without_losing_or_mixing_a_line(study: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(study), name], stdin=subprocess.PIPE, env=_env())
        for name in ("one", "two")
    ]
    for writer in writers:  # both are let go at once
        assert writer.stdin is not None
        writer.stdin.write(b"x")
        writer.stdin.flush()
    assert [writer.wait() for writer in writers] == [0, 0]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    added = read(study)[8:]
    assert len(added) == 160
    looks = [entry.event.what for entry, _ in added if isinstance(entry.event, Looked)]
    assert looks.count("one") == looks.count("two") == 40


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


# --- hands on the folder -------------------------------------------------------------------------


def _lines(raw: bytes) -> list[bytes]:
    return raw.split(b"\n")[:-1]


def _join(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _edited(raw: bytes, number: int, old: bytes, new: bytes) -> bytes:
    lines = _lines(raw)
    assert old in lines[number]
    lines[number] = lines[number].replace(old, new, 1)
    return _join(lines)


JOURNAL_ATTACKS = {
    "entry edited": (lambda raw: _edited(raw, 4, b'"seed":1', b'"seed":2'), "entry 5: it follows"),
    "last entry edited": (lambda raw: _edited(raw, 7, b'"attempt":1', b'"attempt":2'), "entry 7: is not the entry"),
    "middle entry deleted": (lambda raw: _join(_lines(raw)[:4] + _lines(raw)[5:]), "entry 4: found entry number 5"),
    "entry doubled": (lambda raw: _join(_lines(raw)[:4] + _lines(raw)[3:]), "entry 4: found entry number 3"),
    "entries swapped": (
        lambda raw: _join([*_lines(raw)[:4], _lines(raw)[5], _lines(raw)[4], *_lines(raw)[6:]]),
        "entry 4: found entry number 5",
    ),
    "duplicate key": (lambda raw: _edited(raw, 2, b'"attempt":1', b'"attempt":9,"attempt":1'), "entry 2"),
    "NaN": (lambda raw: _edited(raw, 2, b'"attempt":1', b'"attempt":NaN'), "entry 2"),
    "1.0 for 1": (lambda raw: _edited(raw, 2, b'"attempt":1', b'"attempt":1.0'), "entry 2"),
    "space": (lambda raw: _edited(raw, 2, b'"attempt":1', b'"attempt": 1'), "entry 2: not the canonical spelling"),
    "unknown kind": (lambda raw: _edited(raw, 2, b'"attempted"', b'"invented"'), "entry 2"),
    "unknown field": (lambda raw: _edited(raw, 2, b'"attempt":1', b'"attempt":1,"more":1'), "entry 2"),
    "lone surrogate": (lambda raw: _edited(raw, 2, b'"A"', b'"\\ud800"'), "entry 2"),
    "bytes that are no text": (lambda raw: _edited(raw, 2, b'"A"', b'"\xff"'), "entry 2"),
    "depth 1000": (lambda raw: _edited(raw, 2, b'"A"', b"[" * 1000 + b"]" * 1000), "entry 2"),
    "a line of 5 MiB": (lambda raw: _edited(raw, 2, b'"A"', b'"' + b"A" * 5 * 2**20 + b'"'), "entry 2: a line of more"),
    "a wide integer": (lambda raw: _edited(raw, 2, b'"seed":0', b'"seed":9007199254740993'), "entry 2"),
    "a time that is none": (lambda raw: _edited(raw, 7, b"-11-30T", b"-13-30T"), "entry 7: its time"),
    "half a line": (lambda raw: raw[: -len(_lines(raw)[-1]) // 2], "holds 7 entries, but HEAD counts 8"),
    "half a line in the middle": (
        lambda raw: b"\n".join([*_lines(raw)[:3], _lines(raw)[3][:50] + _lines(raw)[4]]) + b"\n", "entry 3",
    ),
    "last newline cut": (lambda raw: raw[:-1], "holds 7 entries, but HEAD counts 8"),
    "last entries dropped": (lambda raw: _join(_lines(raw)[:6]), "holds 6 entries, but HEAD counts 8"),
    "empty": (lambda raw: b"", "holds 0 entries, but HEAD counts 8"),
    "a stray tail": (lambda raw: raw + b'{"event"', "a torn tail: 8 bytes behind the last whole line, at byte"),
    "another journal": (lambda raw: _edited(raw, 0, b'"toy"', b'"cow"'), "entry 0: found sealed"),
}  # fmt: skip


@pytest.mark.parametrize("attack", JOURNAL_ATTACKS)
def test_a_journal_that_was_touched_is_refused_and_the_entry_named(study: Path, attack: str) -> None:
    touch, message = JOURNAL_ATTACKS[attack]
    content = files(study)
    put(study, content | {JOURNAL: touch(content[JOURNAL])})
    with pytest.raises(SealkitError) as raised:
        read(study)
    assert message in str(raised.value)
    assert raised.value.exit_code == 1


def test_a_journal_that_is_missing_is_refused(study: Path) -> None:
    content = files(study)
    del content[JOURNAL]
    folder = put(study, content)
    with pytest.raises(UntrustedError, match="there is no journal"):
        read(study)
    with pytest.raises(UntrustedError, match="there is no journal"):
        Journal.open(folder, inside=study)


def test_a_journal_without_a_byte_and_without_head_is_refused(study: Path) -> None:
    put(study, {JOURNAL: b""})
    with pytest.raises(UntrustedError, match="the journal is empty"):
        read(study)


def test_a_journal_edited_but_of_the_same_size_takes_no_entry(study: Path) -> None:
    content = files(study)
    edited = _edited(content[JOURNAL], 7, b'"attempt":1', b'"attempt":2')
    for touched, message in ((edited, "entry 7 is not the one that HEAD names"), (edited[:-1] + b" ", "no newline")):
        folder = put(study, content | {JOURNAL: touched})
        with pytest.raises(UntrustedError, match=message):
            Journal.open(folder, inside=study)


def test_an_entry_for_an_episode_that_no_line_can_hold_is_refused(tmp_path: Path) -> None:
    line, head = extend(EMPTY, SEALED, "2026-11-30T12:00:00Z")
    huge = EpisodeKept(stage="smoke", pin=PIN, slot=slot(1), attempt=1, digest=PIN, bytes=2**40, calls=None)
    second, head = extend(head, huge, "2026-11-30T12:00:00Z")
    put(tmp_path, {JOURNAL: line + b"\n" + second + b"\n", HEAD: encode_record(head) + b"\n", EPISODES: b""})
    with pytest.raises(MalformedError, match="an episode of 1099511627776 bytes, due at most"):
        read(tmp_path)


def test_an_older_copy_is_refused_by_its_newer_head(study: Path) -> None:
    older = files(study)
    attempt(Journal.open(study / "receipts" / "toy", inside=study), 3)
    put(study, files(study) | {JOURNAL: older[JOURNAL]})
    with pytest.raises(UntrustedError, match="holds 8 entries, but HEAD counts 10"):
        read(study)


def test_an_older_head_is_refused_by_its_newer_journal(study: Path) -> None:
    older = files(study)
    attempt(Journal.open(study / "receipts" / "toy", inside=study), 3)
    folder = put(study, files(study) | {HEAD: older[HEAD]})
    with pytest.raises(UntrustedError, match="HEAD counts 8 entries, but the journal holds 10"):
        read(study)
    with pytest.raises(UntrustedError, match=r"found \d+ bytes, due"):
        Journal.open(folder, inside=study)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (None, "there is no HEAD"),
        (b"", "no newline"),
        (b"8 sha256:00\n", "HEAD: Expected `object`"),
        (b'{"count":8}\n', "HEAD: Object missing required field"),
        (b"x" * 2000, "more than 1024 bytes"),
    ],
)
def test_a_head_that_is_none_is_refused(study: Path, raw: bytes | None, message: str) -> None:
    content = files(study)
    del content[HEAD]
    folder = put(study, content if raw is None else content | {HEAD: raw})
    for attempt_to_read in (lambda: read(study), lambda: Journal.open(folder, inside=study)):
        with pytest.raises(SealkitError, match=message) as raised:
            attempt_to_read()
        assert raised.value.exit_code == 1


def test_an_older_copy_with_its_older_head_is_refused_where_an_anchor_quotes_a_later_one(study: Path) -> None:
    older = files(study)
    journal = Journal.open(study / "receipts" / "toy", inside=study)
    attempt(journal, 3)
    count, digest = parse_head(str(journal.head), where="here")
    folder = put(study, older)
    assert len(read(study)) == 8  # nothing outside this folder
    anchors = (Anchor(count, digest, "CHANGELOG_AFTER_SEAL.md:3"),)
    with pytest.raises(UntrustedError, match=r"CHANGELOG_AFTER_SEAL.md:3 quotes 10 entries, but the journal holds 8"):
        list(open_history(folder, inside=study, first=SEALED, anchors=anchors))


def test_a_history_written_anew_is_refused_where_an_anchor_quotes_the_old_one(study: Path, tmp_path: Path) -> None:
    anchor = Anchor(5, digest_bytes(b"another fifth entry"), "--expect")
    history = open_history(study / "receipts" / "toy", inside=study, first=SEALED, anchors=(anchor,))
    with pytest.raises(UntrustedError, match=r"entry 4: found [0-9a-f]{12}, but --expect quotes"):
        list(history)


def test_an_anchor_that_is_met_is_told(study: Path) -> None:
    raw = files(study)[JOURNAL]
    anchor = Anchor(5, digest_bytes(_lines(raw)[4]), "--expect")
    history = open_history(study / "receipts" / "toy", inside=study, first=SEALED, anchors=(anchor,))
    assert len(list(history)) == 8
    assert history.anchored == (anchor,)


def test_a_clock_that_goes_back_is_told_and_no_fault(study: Path) -> None:
    journal = Journal.open(study / "receipts" / "toy", inside=study)
    journal.append(Looked(what="early"), now=at(-100))
    history = open_history(study / "receipts" / "toy", inside=study, first=SEALED)
    assert len(list(history)) == 9
    assert history.clock_went_back == (8,)


EPISODE_ATTACKS = {
    "edited": lambda raw: raw.replace(b"xx", b"xy", 1),
    "dropped": lambda raw: _join(_lines(raw)[1:]),
    "last dropped": lambda raw: _join(_lines(raw)[:-1]),
    "doubled": lambda raw: _join([*_lines(raw), _lines(raw)[-1]]),
    "doubled within": lambda raw: _join([_lines(raw)[0], *_lines(raw)]),
    "swapped": lambda raw: _join([_lines(raw)[1], _lines(raw)[0], _lines(raw)[2]]),
    "newline cut": lambda raw: raw[:-1],
    "extra for a taken slot": lambda raw: raw + episode_line(2, 50) + b"\n",
    "emptied": lambda raw: b"",
}


@pytest.mark.parametrize("attack", EPISODE_ATTACKS)
def test_episodes_that_were_touched_are_refused_and_the_slot_named(study: Path, attack: str) -> None:
    content = files(study)
    put(study, content | {EPISODES: EPISODE_ATTACKS[attack](content[EPISODES])})
    with pytest.raises(UntrustedError, match=r"evidence: .*") as raised:
        read(study)
    named = {"last dropped": 2, "newline cut": 2, "doubled": 2, "extra for a taken slot": 2, "doubled within": 1}
    assert f"arm=A,family=calm,seed={named.get(attack, 0)}" in str(raised.value)


def test_missing_episodes_are_refused(study: Path) -> None:
    content = files(study)
    del content[EPISODES]
    put(study, content)
    with pytest.raises(UntrustedError, match=r"seed=0 .*found nothing"):
        read(study)


def test_a_hostile_slot_reaches_no_message_unescaped(study: Path) -> None:
    content = files(study)
    line = '{"slot":{"arm":"\\u001b[2J\u202e"}}'.encode()
    put(study, content | {EPISODES: content[EPISODES] + line + b"\n"})
    with pytest.raises(UntrustedError) as raised:
        read(study)
    assert str(raised.value).isprintable() and "\u202e" not in str(raised.value)


@pytest.mark.parametrize("name", [JOURNAL, HEAD, EPISODES])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_regular_file_is_refused_without_waiting(study: Path, name: str, kind: str) -> None:
    path = study / "receipts" / "toy" / name
    kept = path.rename(study / "kept")
    if kind == "link":
        path.symlink_to(kept)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(MalformedError, match=f"{name}: found a {kind}, due a regular file"):
        read(study)


def test_receipts_behind_a_link_are_refused(study: Path) -> None:
    (study / "receipts" / "toy").rename(study / "elsewhere")
    (study / "receipts" / "toy").symlink_to(study / "elsewhere")
    with pytest.raises(MalformedError, match="toy: found a link, due a folder"):
        read(study)


# --- steps out of order --------------------------------------------------------------------------


def test_a_second_journal_is_refused(study: Path) -> None:
    with pytest.raises(OutOfOrderError, match="there is a journal already"):
        start(study)


def test_a_write_that_failed_half_way_leaves_nothing(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.open(study / "receipts" / "toy", inside=study)
    before = files(study)
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data)[:7]))
    with pytest.raises(HarnessError, match="nothing was appended: the file system took a part"):
        journal.append(Looked(what="a test"), now=NOW)
    assert files(study) == before

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(HarnessError, match="nothing was appended: No space left on device"):
        journal.append(Looked(what="a test"), now=NOW)
    monkeypatch.setattr(os, "write", write)
    assert files(study) == before
    journal.append(Looked(what="a test"), now=NOW)
    assert len(read(study)) == 9


def test_one_run_at_a_time(study: Path) -> None:
    folder = study / "receipts" / "toy"
    with (
        exclusive(folder, inside=study),
        pytest.raises(OutOfOrderError, match="another sealkit is at work here"),
        exclusive(folder, inside=study),
    ):
        pass
    with exclusive(folder, inside=study):
        pass


def test_a_line_break_in_an_episode_is_refused(study: Path) -> None:
    journal = Journal.open(study / "receipts" / "toy", inside=study)
    with pytest.raises(MalformedError, match="due one line"):
        journal.append_episode(b"{\n}", stage="smoke", pin=PIN, slot=slot(9), attempt=1, now=NOW)
    assert len(read(study)) == 8


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="without its zone"):
        utc(NOW.replace(tzinfo=None))


def test_reading_meanwhile_sees_a_whole_state(study: Path) -> None:
    history = open_history(study / "receipts" / "toy", inside=study, first=SEALED)
    attempt(Journal.open(study / "receipts" / "toy", inside=study), 3)
    assert len(list(history)) == 8
    head = read_head(study / "receipts" / "toy", inside=study)
    assert head is not None and head.count == 10 and short(head.digest or "") in str(head)


# --- calls to models ---------------------------------------------------------------------------------


@pytest.fixture
def called(tmp_path: Path) -> Path:
    """A study whose attempts 0 and 2 made calls, as did those that a pause cut off."""
    journal = start(tmp_path)
    journal.append(OPENED, now=NOW)
    attempt(journal, 0, calls=calls_of(0))
    attempt(journal, 1)
    attempt(journal, 2, calls=calls_of(2, 3))
    rest = calls_of(7, 1)
    paused = Paused(stage="confirmatory", reason="interrupted", detail="", calls=call_lines(rest))
    journal.append(paused, now=NOW, calls=rest)
    return tmp_path


def test_each_entry_comes_with_the_lines_of_its_calls(called: Path) -> None:
    history = open_history(called / "receipts" / "toy", inside=called, first=SEALED)
    found = [history.calls for _ in history]
    assert [block for block in found if block] == [calls_of(0), calls_of(2, 3), calls_of(7, 1)]
    assert [found[3], found[7], found[8]] == [calls_of(0), calls_of(2, 3), calls_of(7, 1)]
    assert files(called)[CALLS] == b"".join(found)
    assert history.head.calls_size == len(files(called)[CALLS])


CALL_ATTACKS = {
    "a digit changed": lambda calls: calls.replace(b'"n":2', b'"n":3', 1),
    "a line dropped": lambda calls: calls[calls.index(b"\n") + 1 :],
    "two lines swapped": lambda calls: calls[17:34] + calls[:17] + calls[34:],
    "a line doubled": lambda calls: calls[: calls.index(b"\n") + 1] + calls,
    "cut": lambda calls: calls[:-5],
    "the file taken away": lambda calls: None,
    "a line added": lambda calls: calls + b"{}\n",
}


@pytest.mark.parametrize("attack", CALL_ATTACKS)
def test_calls_that_were_touched_are_refused(called: Path, attack: str) -> None:
    content = files(called)
    touched = CALL_ATTACKS[attack](content.pop(CALLS))
    put(called, content if touched is None else content | {CALLS: touched})
    with pytest.raises(UntrustedError, match=r"calls\.jsonl.*evidence:") as raised:
        read(called)
    assert raised.value.exit_code == 1


def test_an_entry_that_tells_of_more_calls_than_any_attempt_makes_is_refused(tmp_path: Path) -> None:
    line, head = extend(EMPTY, SEALED, "2026-11-30T12:00:00Z")
    told = CallLines(count=1, bytes=2**40, digest=PIN)
    paused = Paused(stage="smoke", reason="interrupted", detail="", calls=told)
    second, head = extend(head, paused, "2026-11-30T12:00:00Z")
    put(tmp_path, {JOURNAL: line + b"\n" + second + b"\n", HEAD: encode_record(head) + b"\n"})
    with pytest.raises(MalformedError, match="calls of 1099511627776 bytes, due at most"):
        read(tmp_path)


def test_calls_are_written_only_with_the_entry_that_tells_of_them(called: Path) -> None:
    journal = Journal.open(called / "receipts" / "toy", inside=called)
    before = files(called)
    with pytest.raises(ValueError, match="other calls"):
        journal.append(Looked(what="x"), now=NOW, calls=calls_of(1))
    with pytest.raises(MalformedError, match="no newline"):
        journal.append(Looked(what="x"), now=NOW, calls=b"{}")
    assert files(called) == before


def test_an_entry_that_no_line_can_hold_leaves_no_calls_behind(called: Path) -> None:
    journal, before, rest = Journal.open(called / "receipts" / "toy", inside=called), files(called), calls_of(8)
    endless = Paused(stage="confirmatory", reason="interrupted", detail="x" * MAX_LINE, calls=call_lines(rest))
    with pytest.raises(MalformedError, match="a line of"):
        journal.append(endless, now=NOW, calls=rest)
    assert files(called) == before


def test_calls_are_not_glued_to_half_a_line(called: Path) -> None:
    content = files(called)
    put(called, content | {CALLS: content[CALLS] + b'{"n"'})
    journal = Journal.open(called / "receipts" / "toy", inside=called)
    with pytest.raises(UntrustedError, match=r"calls\.jsonl: found 106 bytes, due 102"):
        attempt(journal, 9, calls=calls_of(9))
