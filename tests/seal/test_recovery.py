"""Crashes: every state that one can leave is brought back to a whole one, and nothing else is touched."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.seal.history import open_history
from sealkit.seal.journal import CALLS, EPISODES, HEAD, JOURNAL, Journal, read_head
from sealkit.seal.recovery import recover
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import MAX_CALLS, EpisodeKept, Looked, Recovered, Repaired
from sealkit.wire.journal_head import EMPTY
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

Content = dict[str, bytes]


def crashes(before: Content, after: Content) -> Iterator[tuple[str, Content]]:
    """Every state between `before` and `after` of one append: the cut in calls, episode, entry, and HEAD behind.

    Built from the documented order of writes, not by the code under test.
    """
    calls = after.get(CALLS, b"")
    for cut in range(len(before.get(CALLS, b"")) + 1, len(calls) + 1):
        yield "calls", before | {CALLS: calls[:cut]}
    if CALLS in after:
        before = before | {CALLS: calls}
    episodes = after.get(EPISODES, b"")
    old = len(before.get(EPISODES, b""))
    if len(episodes) > old:
        for cut in range(old + 1, len(episodes) + 1):
            yield "episode", before | {EPISODES: episodes[:cut]}
    written = {EPISODES: episodes} if EPISODES in after else {}
    for cut in range(len(before[JOURNAL]) + 1, len(after[JOURNAL])):
        yield "entry", before | written | {JOURNAL: after[JOURNAL][:cut]}
    yield "head", before | written | {JOURNAL: after[JOURNAL]}


def check_recovery(study: Path, name: str, before: Content, crashed: Content, after: Content, *, goes_on: bool) -> None:
    """Reading refuses the crashed state; recovering it keeps all of `before` and loses no byte."""
    shutil.rmtree(study / "receipts" / "toy" / "torn", ignore_errors=True)
    folder = put(study, crashed)
    with pytest.raises(UntrustedError, match=r"sealkit run"):
        read(study)
    done = recover(folder, inside=study, now=NOW)
    entries = [entry for entry, _ in read(study)]
    now = files(study)
    kept = after if name == "head" else before
    assert now[JOURNAL].startswith(kept[JOURNAL])
    assert [now.get(name, b"") for name in (EPISODES, CALLS)] == [kept.get(name, b"") for name in (EPISODES, CALLS)]
    assert tuple(entry.event for entry in entries[-len(done) :]) == done
    if name == "head":
        assert [type(event) for event in done] == [Recovered]
    else:
        moved = {event.file: event for event in done if isinstance(event, Repaired)}
        for file, event in moved.items():
            torn = (folder / event.moved_to).read_bytes()
            assert torn == crashed[file][len(before.get(file, b"")) :]
            assert (event.offset, event.bytes, event.digest) == (
                len(before.get(file, b"")),
                len(torn),
                digest_bytes(torn),
            )
        touched = {file for file in (JOURNAL, EPISODES, CALLS) if crashed.get(file, b"") != before.get(file, b"")}
        assert moved.keys() == touched
    assert recover(folder, inside=study, now=NOW) == ()
    assert files(study) == now
    if goes_on:
        Journal.open(folder, inside=study).append(Looked(what="it goes on"), now=NOW)
        assert len(read(study)) == len(entries) + 1


def appended(study: Path, steps: list[tuple[str, str | int]]) -> tuple[Content, Content]:
    """The files before and after the last of these appends."""
    journal = start(study)
    before = files(study)
    for seed, (kind, value) in enumerate(steps):
        before = files(study)
        if kind == "event":
            journal.append(Looked(what=str(value)), now=at(seed))
        else:
            line = episode_line(seed, int(value))
            calls = calls_of(seed) if kind == "called" else b""
            journal.append_episode(line, stage="smoke", pin=PIN, slot=slot(seed), attempt=1, now=at(seed), calls=calls)
    return before, files(study)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "steps",
    [[("event", "a")], [("episode", 3), ("episode", 0)], [("called", 3), ("episode", 1), ("called", 0)]],
    ids=["event", "episode", "called"],
)
def test_a_cut_at_any_byte_of_the_last_write_loses_nothing(tmp_path: Path, steps: list[tuple[str, str | int]]) -> None:
    before, after = appended(tmp_path, steps)
    for number, (name, crashed) in enumerate(crashes(before, after)):
        check_recovery(tmp_path, name, before, crashed, after, goes_on=number % 10 == 0)


appends = st.lists(
    st.one_of(
        st.tuples(st.just("event"), st.text(max_size=12)),
        st.tuples(st.sampled_from(["episode", "called"]), st.integers(0, 90)),
    ),
    min_size=1,
    max_size=8,
)


@given(appends, st.data())
@settings(max_examples=25, deadline=None)
def test_a_cut_anywhere_after_any_appends_loses_nothing(
    steps: list[tuple[str, str | int]], data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as scratch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        before, after = appended(Path(scratch), steps)
        states = list(crashes(before, after))
        for name, crashed in data.draw(st.lists(st.sampled_from(states), min_size=1, max_size=8)):
            check_recovery(Path(scratch), name, before, crashed, after, goes_on=True)


@pytest.mark.usefixtures("quick")
def test_a_crash_in_the_first_write_of_all(tmp_path: Path) -> None:
    start(tmp_path)
    after = files(tmp_path)
    folder = tmp_path / "receipts" / "toy"
    for cut in range(1, len(after[JOURNAL]), 5):
        put(tmp_path, {JOURNAL: after[JOURNAL][:cut]})
        with pytest.raises(UntrustedError, match="torn tail"):
            read(tmp_path)
        assert recover(folder, inside=tmp_path, now=NOW) == ()
        assert read_head(folder, inside=tmp_path) is None
        start(tmp_path)
        done = recover(folder, inside=tmp_path, now=NOW)  # now that there is a journal, what was torn is recorded
        assert [type(event) for event in done] == [Repaired]
        assert [entry.event for entry, _ in read(tmp_path)] == [SEALED, *done]
        shutil.rmtree(folder)
    put(tmp_path, {JOURNAL: after[JOURNAL]})
    with pytest.raises(UntrustedError, match="HEAD is one behind: it counts 0 entries of 1"):
        read(tmp_path)
    assert recover(folder, inside=tmp_path, now=NOW) == (Recovered(entry=0),)
    assert [entry.event for entry, _ in read(tmp_path)] == [SEALED, Recovered(entry=0)]


@pytest.mark.usefixtures("quick")
def test_a_crash_in_the_repair_itself_is_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop after each system call that changes a file; the next recovery always ends in the same files."""
    journal = start(tmp_path)
    journal.append(OPENED, now=NOW)
    attempt(journal, 0, calls=calls_of(0))
    before = files(tmp_path)
    attempt(journal, 1, calls=calls_of(1))
    after = files(tmp_path)
    crashed = before | {EPISODES: after[EPISODES], CALLS: after[CALLS], JOURNAL: after[JOURNAL][:-9]}
    # Two whole entries are cut from the journal's end but the last is torn: only the torn one may be ahead of HEAD.
    crashed[HEAD] = _head_before_last(tmp_path, crashed[JOURNAL])

    class Stop(Exception):
        pass

    outcomes, stop_at = set(), 0
    while True:
        folder = put(tmp_path, crashed)
        shutil.rmtree(folder / "torn", ignore_errors=True)
        calls = 0

        def counted(name: str, stop_at: int = stop_at) -> object:
            original = getattr(os, name)

            def call(*args: object, **kwargs: object) -> object:
                nonlocal calls
                calls += 1
                if calls == stop_at:
                    raise Stop
                return original(*args, **kwargs)

            return call

        finished = False
        with monkeypatch.context() as patch:
            for name in ("write", "ftruncate", "replace", "link", "unlink"):
                patch.setattr(os, name, counted(name))
            try:
                recover(folder, inside=tmp_path, now=NOW)
                finished = True
            except Stop:
                pass
        recover(folder, inside=tmp_path, now=NOW)
        events = [entry.event for entry, _ in read(tmp_path)]
        outcomes.add(
            (
                files(tmp_path)[EPISODES] + files(tmp_path)[CALLS],
                frozenset(e.moved_to for e in events if isinstance(e, Repaired)),
            )
        )
        if finished and stop_at:
            break
        stop_at += 1
    assert stop_at > 6
    assert len(outcomes) == 1


def _head_before_last(study: Path, torn: bytes) -> bytes:
    """HEAD as it was before the last entry, which is torn, was begun."""
    whole = torn[: torn.rindex(b"\n") + 1]
    last = whole[:-1].rpartition(b"\n")[2]
    return b'{"calls_size":%d,"count":%d,"digest":"%s","episodes_size":%d,"size":%d,"type":"sealkit/journal-head/v1"}\n' % (
        len(calls_of(0)), whole.count(b"\n"), digest_bytes(last).encode(), len(episode_line(0)) + 1, len(whole),
    )  # fmt: skip


@pytest.mark.usefixtures("quick")
def test_a_line_with_holes_that_a_power_cut_leaves_is_torn(tmp_path: Path) -> None:
    journal = start(tmp_path)
    before = files(tmp_path)
    journal.append(OPENED, now=NOW)
    line = files(tmp_path)[JOURNAL][len(before[JOURNAL]) :]
    holed = line[:20] + bytes(30) + line[50:]
    folder = put(tmp_path, before | {JOURNAL: before[JOURNAL] + holed})
    done = recover(folder, inside=tmp_path, now=NOW)
    assert [type(event) for event in done] == [Repaired]
    assert (folder / done[0].moved_to).read_bytes() == holed  # type: ignore[union-attr]


def _two_ahead(before: Content, after: Content) -> Content:
    return after | {HEAD: before[HEAD]}


def _no_head(before: Content, after: Content) -> Content:
    return {name: data for name, data in after.items() if name != HEAD}


NOT_BY_A_CRASH = {
    "HEAD two entries behind": (_two_ahead, "more than one entry behind the 2"),
    "no HEAD": (_no_head, "there is no HEAD"),
    "journal cut": (lambda before, after: after | {JOURNAL: before[JOURNAL]}, "does not fit the entry that HEAD names"),
    "last entry edited": (
        lambda before, after: after | {JOURNAL: after[JOURNAL].replace(b'"attempt":1,"bytes"', b'"attempt":2,"bytes"')},
        "does not fit the entry that HEAD names",
    ),
    "episodes cut": (lambda before, after: after | {EPISODES: after[EPISODES][:-1]}, "found 78 bytes, due 79"),
    "no episodes": (
        lambda before, after: {name: data for name, data in after.items() if name != EPISODES}, "the file is gone",
    ),
    "calls cut": (lambda before, after: after | {CALLS: after[CALLS][:-1]}, "found 33 bytes, due 34"),
    "no calls": (
        lambda before, after: {name: data for name, data in after.items() if name != CALLS}, "the file is gone",
    ),
    "more calls than an entry tells of": (
        lambda before, after: after | {CALLS: after[CALLS] + bytes(MAX_CALLS + 1)}, "more than 33554432 bytes from",
    ),
    "two episodes more": (
        lambda before, after: after | {EPISODES: after[EPISODES] * 3}, "more than one episode from byte 79 on",
    ),
    "last newline edited": (
        lambda before, after: after | {JOURNAL: after[JOURNAL][:-1] + b" "}, "no newline before byte",
    ),
    "no journal": (
        lambda before, after: {name: data for name, data in after.items() if name != JOURNAL}, "there is no journal",
    ),
    "two torn lines": (lambda before, after: after | {JOURNAL: after[JOURNAL] + b"a\nb"}, "more than one entry behind"),
}  # fmt: skip


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("case", NOT_BY_A_CRASH)
def test_what_no_crash_leaves_is_refused_and_not_touched(tmp_path: Path, case: str) -> None:
    make, message = NOT_BY_A_CRASH[case]
    journal = start(tmp_path)
    journal.append(OPENED, now=NOW)
    before = files(tmp_path)
    attempt(journal, 0, size=21, calls=calls_of(0))
    touched = make(before, files(tmp_path))
    folder = put(tmp_path, touched)
    with pytest.raises(UntrustedError, match=message):
        recover(folder, inside=tmp_path, now=NOW)
    assert files(tmp_path) == touched
    assert not (folder / "torn").exists()


@pytest.mark.usefixtures("quick")
def test_a_file_in_the_way_of_torn_bytes_is_not_taken_for_them(tmp_path: Path) -> None:
    journal = start(tmp_path)
    whole = files(tmp_path)
    journal.append(OPENED, now=NOW)
    torn = files(tmp_path)[JOURNAL][len(whole[JOURNAL]) : -20]
    folder = put(tmp_path, whole | {JOURNAL: whole[JOURNAL] + torn})
    name = f"journal.jsonl.{len(whole[JOURNAL])}.{digest_bytes(torn)[7:19]}"
    (folder / "torn").mkdir()
    (folder / "torn" / name).write_bytes(b"something else")
    (folder / "torn" / "a note of somebody's").write_bytes(b"is left alone")
    with pytest.raises(UntrustedError, match="holds other bytes than its name says"):
        recover(folder, inside=tmp_path, now=NOW)
    assert files(tmp_path)[JOURNAL] == whole[JOURNAL] + torn
    (folder / "torn" / name).unlink()
    assert len(recover(folder, inside=tmp_path, now=NOW)) == 1
    assert recover(folder, inside=tmp_path, now=NOW) == ()


@pytest.mark.usefixtures("quick")
def test_an_episode_killed_before_its_entry_leaves_an_attempt_and_runs_again(tmp_path: Path) -> None:
    journal = start(tmp_path)
    journal.append(OPENED, now=NOW)
    attempt(journal, 0)
    before = files(tmp_path)
    line = episode_line(1)
    folder = put(tmp_path, before | {EPISODES: before[EPISODES] + line + b"\n"})
    with pytest.raises(UntrustedError, match=r"that no entry of the journal knows: an episode of arm=A,.*,seed=1 "):
        read(tmp_path)
    recover(folder, inside=tmp_path, now=NOW)
    attempt(Journal.open(folder, inside=tmp_path), 1)
    assert [line for _, line in read(tmp_path) if line] == [episode_line(0), episode_line(1)]


_CHILD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from sealkit.seal.journal import Journal
from sealkit.wire.digest import digest_bytes
study = Path(sys.argv[1])
journal = Journal.open(study / "receipts" / "toy", inside=study)
for number in range(int(sys.argv[2]), 10**6):
    line = b'{"n":%d,"filler":"%s"}' % (number, b"x" * (number * 7919 % 5000))
    journal.append_episode(line, stage="smoke", pin=digest_bytes(b"a seal"), slot={"n": number}, attempt=1,
                           now=datetime.now(UTC))
    print(number, flush=True)
"""


def test_kill_9_at_random_moments_loses_no_append_that_had_returned(tmp_path: Path) -> None:
    start(tmp_path)
    folder = tmp_path / "receipts" / "toy"
    draw = random.Random(9)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    acknowledged = -1
    for _ in range(20):
        next_number = _kept(tmp_path)
        command = [sys.executable, "-c", _CHILD, str(tmp_path), str(next_number)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
            assert child.stdout is not None
            for _ in range(draw.randrange(1, 30)):
                acknowledged = int(child.stdout.readline())
            for _ in range(draw.randrange(2000)):
                pass  # a different place inside the next append each time
            child.send_signal(signal.SIGKILL)
            child.wait()
            rest = child.stdout.read().split(b"\n")[:-1]  # it may have gone on before the signal reached it
            acknowledged = int(rest[-1]) if rest else acknowledged
        recover(folder, inside=tmp_path, now=NOW)
        assert _kept(tmp_path) > acknowledged


def _kept(study: Path) -> int:
    """How many episodes the journal holds; they are those numbered from 0, none lost, none doubled."""
    history = open_history(study / "receipts" / "toy", inside=study, first=SEALED)
    numbers = [entry.event.slot["n"] for entry in history.entries() if isinstance(entry.event, EpisodeKept)]
    assert numbers == list(range(len(numbers)))
    assert history.head != EMPTY
    return len(numbers)
