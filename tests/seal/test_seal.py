"""The seal: what it commits to, that there is one, and that every part of it is checked when it is opened."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from sealkit.seal import archive
from sealkit.seal import seal as making
from sealkit.seal.history import open_history
from sealkit.seal.journal import EPISODES, HEAD, JOURNAL, Journal, call_lines
from sealkit.seal.seal import make_seal
from sealkit.seal.sealed import Seal, SealedPlan, check_no_drift, find_drift, open_seal
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import HarnessError, OutOfOrderError, SealkitError, UntrustedError, UsageError
from sealkit.wire.events import Looked, Opened, Paused, Recovered, Repaired, Sealed
from tests.seal.studies import NOW, edit, make_study, plan_of, snapshot

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return make_study(tmp_path / "study")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed study, to be copied."""
    root = make_study(tmp_path_factory.mktemp("template"))
    make_seal(plan_of(root), now=NOW)
    return root


@pytest.fixture
def sealed(study: Path, template: Path) -> SealedPlan:
    """The study, sealed."""
    shutil.copytree(template, study, dirs_exist_ok=True)
    return open_seal(plan_of(study))


def test_a_seal_commits_to_everything_and_begins_the_journal(study: Path) -> None:
    sealed = make_seal(plan_of(study), now=NOW)
    raw = (study / "plans" / "pond.seal.json").read_bytes()
    seal = sealed.seal
    assert decode_record(raw[:-1], Seal) == seal and raw.endswith(b"\n")
    assert sealed.pin == digest_bytes(raw)
    assert seal.plan.file == digest_bytes(plan_of(study).read_bytes())
    assert seal.plan.sections == dict(sealed.plan.sections) and "hypotheses" in seal.plan.sections
    assert [tree.path for tree in seal.closure.trees] == ["arms/toad", "sealkit", "verifiers/strict", "worlds/pond"]
    assert (seal.manifest.count, seal.sealed_at, seal.data_access) == (9, "2026-11-30T12:00:00Z", "none_collected")
    assert seal.source.digest == digest_bytes((study / "plans" / "pond.source.tar").read_bytes())
    assert (seal.pilot.episodes, seal.pilot.calls, seal.pilot.head) == (0, 0, None)
    assert (seal.key_id, seal.time_authority) == (None, None)
    assert [entry.event for entry in sealed.history().entries()] == [Sealed(plan="pond-v1", pin=sealed.pin)]


def test_opening_gives_what_making_gave(study: Path, sealed: SealedPlan) -> None:
    opened = open_seal(plan_of(study))
    assert (opened.pin, opened.seal, opened.plan.digest) == (sealed.pin, sealed.seal, sealed.plan.digest)
    assert opened.judge == opened.seal.closure.tree("worlds/pond").root
    trusted = opened.trusted({"arm": "frog", "family": "windy", "seed": 7})
    assert trusted.scenario == opened.manifest.line("windy", 7)
    assert (trusted.pin, trusted.judge) == (opened.pin, opened.judge)
    opened.journal().append(Looked(what="a test"), now=NOW)
    assert len(list(opened.history())) == 2


def test_two_seals_of_equal_studies_differ_in_nothing_but_time(tmp_path: Path) -> None:
    one, two = (make_study(tmp_path / name) for name in ("one", "two"))
    make_seal(plan_of(one), now=NOW)
    make_seal(plan_of(two), now=NOW)
    assert snapshot(one / "plans") == snapshot(two / "plans")


def test_a_sealed_plan_is_made_by_opening_and_in_no_other_way(sealed: SealedPlan) -> None:
    fields = {field.name: getattr(sealed, field.name) for field in dataclasses.fields(sealed)}
    with pytest.raises(TypeError):
        SealedPlan(**fields)
    with pytest.raises(TypeError, match="made by open_seal"):
        SealedPlan(**fields, minted_by=object())
    with pytest.raises((TypeError, ValueError)):
        dataclasses.replace(sealed, pin="sha256:")
    with pytest.raises(dataclasses.FrozenInstanceError):
        sealed.pins = ()  # type: ignore[misc]


# --- order ---------------------------------------------------------------------------------------


def test_a_second_seal_is_refused_and_changes_nothing(study: Path, sealed: SealedPlan) -> None:
    before = snapshot(study)
    with pytest.raises(OutOfOrderError, match=r"pond\.seal\.json: the plan is sealed already; .*sealkit amend"):
        make_seal(plan_of(study), now=NOW + timedelta(days=1))
    edit(plan_of(study), "succeeds every time", "succeeds at times")
    with pytest.raises(OutOfOrderError, match="the plan is sealed already"):
        make_seal(plan_of(study), now=NOW)
    edit(plan_of(study), "succeeds at times", "succeeds every time")
    assert snapshot(study) == before


def test_a_plan_whose_receipts_are_there_is_not_sealed(study: Path, sealed: SealedPlan) -> None:
    (study / "plans" / "pond.seal.json").unlink()
    with pytest.raises(OutOfOrderError, match=r"receipts under the id pond-v1, but no seal"):
        make_seal(plan_of(study), now=NOW)


def test_a_plan_with_the_id_of_another_is_not_sealed(study: Path, sealed: SealedPlan) -> None:
    shutil.copy(plan_of(study), study / "plans" / "second.yaml")
    with pytest.raises(UsageError, match="give this plan an id of its own"):
        make_seal(study / "plans" / "second.yaml", now=NOW)


def test_a_plan_that_is_not_sealed_is_not_opened(study: Path) -> None:
    with pytest.raises(OutOfOrderError, match=r"pond\.yaml: the plan is not sealed; sealkit seal"):
        open_seal(plan_of(study))


def test_a_judge_that_does_not_load_is_not_sealed(study: Path) -> None:
    judge = study / "worlds" / "pond" / "judge.py"
    judge.write_text(judge.read_text() + "x = (\n")
    with pytest.raises(HarnessError, match="loading it raised SyntaxError"):
        make_seal(plan_of(study), now=NOW)
    assert not list((study / "plans").glob("*.seal.json")) and not (study / "receipts").exists()


@pytest.mark.parametrize("name", ["pond.yaml", "plans/pond.txt"])
def test_a_plan_outside_of_plans_is_refused(study: Path, name: str) -> None:
    shutil.copy(plan_of(study), study / name)
    with pytest.raises(UsageError, match=r"a plan is a file plans/NAME\.yaml"):
        make_seal(study / name, now=NOW)


def test_a_plan_that_is_not_there_is_refused(study: Path) -> None:
    with pytest.raises(UsageError, match="there is no such plan"):
        make_seal(study / "plans" / "absent.yaml", now=NOW)


def test_a_pilot_is_counted(study: Path) -> None:
    folder = study / "receipts" / "pond-v1" / "pilot"
    opened = Opened(stage="pilot", pin=digest_bytes(b"plan"), sealkit="0.1.0", environment=digest_bytes(b"here"))
    journal = Journal.start(folder, opened, inside=study, now=NOW)
    for seed in (90, 4):
        slot: dict[str, int | str] = {"arm": "frog", "family": "calm", "seed": seed}
        journal.append_episode(b'{"seed":%d}' % seed, stage="pilot", pin=opened.pin, slot=slot, attempt=1, now=NOW)
    paused = Paused(stage="pilot", reason="interrupted", detail="", calls=call_lines(b"{}\n" * 5))
    journal.append(paused, now=NOW, calls=b"{}\n" * 5)
    pilot = make_seal(plan_of(study), now=NOW).seal.pilot
    assert (pilot.episodes, pilot.calls, pilot.head) == (2, 5, str(journal.head))


def test_a_pilot_without_calls_is_counted_too(study: Path) -> None:
    folder = study / "receipts" / "pond-v1" / "pilot"
    opened = Opened(stage="pilot", pin=digest_bytes(b"plan"), sealkit="0.1.0", environment=digest_bytes(b"here"))
    Journal.start(folder, opened, inside=study, now=NOW)
    assert make_seal(plan_of(study), now=NOW).seal.pilot.calls == 0


def test_a_pilot_that_was_touched_is_not_sealed_over(study: Path) -> None:
    test_a_pilot_is_counted(study)
    (study / "plans" / "pond.seal.json").unlink()
    for name in (JOURNAL, HEAD):
        (study / "receipts" / "pond-v1" / name).unlink()
    edit(study / "receipts" / "pond-v1" / "pilot" / EPISODES, "90", "91")
    with pytest.raises(UntrustedError, match="evidence"):
        make_seal(plan_of(study), now=NOW)
    assert not (study / "plans" / "pond.seal.json").exists()


# --- crashes -------------------------------------------------------------------------------------


class Stop(BaseException):
    """Stands for the process being killed: no `except Exception` catches it."""


class Dying:
    """Wraps the calls that change files: from number `stop_at` on, none is made. A dead process cleans nothing up."""

    def __init__(self, stop_at: int) -> None:
        self.stop_at = stop_at
        self.calls = 0

    def wrap(self, function: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            self.calls += 1
            if self.calls >= self.stop_at:
                raise Stop
            return function(*args, **kwargs)

        return call


def archive_write(write: Callable[[int, bytes], int]) -> Callable[[int, bytes], None]:
    """What `write_all` does, past the wrapped `os.write`."""

    def call(descriptor: int, data: bytes) -> None:
        assert write(descriptor, data) == len(data)

    return call


def test_a_crash_at_any_moment_leaves_no_half_seal_and_the_next_call_completes(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop before each system call that puts a file in its place, in turn, and then seal again."""
    after_seal, write = 0, archive_write(os.write)
    for stop_at in range(1, 100):
        fresh = make_study(study.with_name(f"study{stop_at}"))
        finished = False
        dying = Dying(stop_at)
        with monkeypatch.context() as patch:
            for name in ("replace", "link", "unlink", "ftruncate"):
                patch.setattr(os, name, dying.wrap(getattr(os, name)))
            patch.setattr(os, "write", dying.wrap(os.write))
            patch.setattr(archive, "write_all", write)  # its hundred writes put nothing in place
            try:
                make_seal(plan_of(fresh), now=NOW)
                finished = True
            except Stop:
                pass
        if finished:
            break
        if (fresh / "plans" / "pond.seal.json").exists():
            after_seal += 1
            open_seal(plan_of(fresh))  # whole, or not there at all
        sealed = make_seal(plan_of(fresh), now=NOW)
        events = [entry.event for entry in sealed.history().entries()]
        assert events[0] == sealed.first and all(isinstance(event, Recovered) for event in events[1:])
        with pytest.raises(OutOfOrderError):
            make_seal(plan_of(fresh), now=NOW)
    assert finished and stop_at >= 5 and after_seal >= 2


def test_a_crash_in_the_first_entry_is_completed_by_the_next_call(study: Path, sealed: SealedPlan) -> None:
    folder = study / "receipts" / "pond-v1"
    raw = (folder / JOURNAL).read_bytes()
    for content in (None, b"", raw[:40], raw):
        (folder / HEAD).unlink(missing_ok=True)
        (folder / JOURNAL).unlink(missing_ok=True)
        if content is not None:
            (folder / JOURNAL).write_bytes(content)
        again = make_seal(plan_of(study), now=NOW)
        assert again.pin == sealed.pin
        events = [entry.event for entry in again.history().entries()]
        assert events[0] == sealed.first
        assert [type(event) for event in events[1:]] == ([Recovered, Repaired] if content == raw else [])
    assert len(list((folder / "torn").iterdir())) == 1


def test_two_seals_at_once_make_one(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second begins while the first writes its archive."""
    write = making.write_archive
    seen: list[SealkitError] = []

    def meanwhile(*args: object, **kwargs: object) -> object:
        with pytest.raises(OutOfOrderError, match="another sealkit is at work here") as raised:
            make_seal(plan_of(study), now=NOW)
        seen.append(raised.value)
        return write(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(making, "write_archive", meanwhile)
    make_seal(plan_of(study), now=NOW)
    assert len(seen) == 1


# --- hands on the folder -------------------------------------------------------------------------


def _rewrite_seal(study: Path, change: Callable[[dict[str, object]], object]) -> None:
    path = study / "plans" / "pond.seal.json"
    value = json.loads(path.read_bytes())
    change(value)
    path.write_bytes(json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n")


def _edit(name: str, old: str, new: str) -> Callable[[Path], object]:
    return lambda study: edit(study / name, old, new)


def _seal(change: Callable[[dict], object]) -> Callable[[Path], object]:  # type: ignore[type-arg]
    return lambda study: _rewrite_seal(study, change)


def _remove(name: str) -> Callable[[Path], object]:
    return lambda study: (study / name).unlink()


def _fifo(name: str) -> Callable[[Path], object]:
    def swap(study: Path) -> None:
        (study / name).unlink()
        os.mkfifo(study / name)

    return swap


def _link(name: str) -> Callable[[Path], object]:
    def swap(study: Path) -> None:
        (study / name).rename(study / "kept")
        (study / name).symlink_to(study / "kept")

    return swap


ATTACKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a hypothesis edited": (
        _edit("plans/pond.yaml", "every time", "at times"),
        "pond.yaml: has changed since its seal: section hypotheses differs; put it back, or record",
    ),
    "two sections edited": (
        lambda study: (_edit("plans/pond.yaml", "every time", "at times")(study),
                       _edit("plans/pond.yaml", "0.95", "0.9")(study)),
        "pond.yaml: has changed since its seal: sections hypotheses, methods differ",
    ),
    "a comment added": (
        _edit("plans/pond.yaml", "readings: {}", "readings: {}  # none"),
        "has changed since its seal: comments or layout differ, no section does",
    ),
    "a plan that is none": (
        _edit("plans/pond.yaml", "sealkit: 1", "sealkit: [1"), "has changed since its seal and is no plan any more: ",
    ),
    "a plan that cannot be meant": (
        _edit("plans/pond.yaml", "seed: [1]", "seed: [7]"), "has changed since its seal and is no plan any more: ",
    ),
    "plan missing": (_remove("plans/pond.yaml"), "pond.yaml: there is no such file"),
    "plan a pipe": (_fifo("plans/pond.yaml"), "pond.yaml: found a pipe"),
    "plan a link": (_link("plans/pond.yaml"), "pond.yaml: found a link"),
    "seal with a space": (_edit("plans/pond.seal.json", ":", ": "), "pond.seal.json: not the canonical spelling"),
    "seal cut": (lambda s: os.truncate(s / "plans/pond.seal.json", 900), "pond.seal.json: found no newline"),
    "seal empty": (lambda s: os.truncate(s / "plans/pond.seal.json", 0), "pond.seal.json: found no newline"),
    "seal a pipe": (_fifo("plans/pond.seal.json"), "pond.seal.json: found a pipe"),
    "seal of 5 MiB": (
        lambda s: (s / "plans/pond.seal.json").write_bytes(b"[" * 5 * 2**20), "pond.seal.json: more than",
    ),
    "seal 10,000 deep": (
        lambda s: (s / "plans/pond.seal.json").write_bytes(b"[" * 10_000 + b"\n"), "pond.seal.json: ",
    ),
    "seal with an unknown field": (_seal(lambda v: v.update(more=1)), "pond.seal.json: "),
    "seal with another time": (_seal(lambda v: v.update(sealed_at="yesterday")), "sealed_at is 'yesterday'"),
    "seal of another data access": (_seal(lambda v: v.update(data_access="seen")), "says of the plan what the plan"),
    "seal of another plan": (_seal(lambda v: v["plan"].update(path="plans/x.yaml")), "it seals 'plans/x.yaml'"),
    "seal of another id": (_seal(lambda v: v["plan"].update(id="x")), "says of the plan what the plan does not"),
    "a section moved between plans": (
        _seal(lambda v: v["plan"]["sections"].update(metrics=v["plan"]["sections"]["claims"])),
        "section metrics differs",
    ),
    "a section dropped from the seal": (_seal(lambda v: v["plan"]["sections"].pop("gates")), "section gates differs"),
    "a digest of the canonical parse edited": (
        _seal(lambda v: v["plan"].update(canonical="sha256:" + "0" * 64)), "says of the plan what the plan does not",
    ),
    "a tree's root edited": (
        _seal(lambda v: v["closure"]["trees"][3].update(root="sha256:" + "0" * 64)),
        "tree 'worlds/pond': its root is not that of its entries",
    ),
    "a tree dropped": (
        _seal(lambda v: v["closure"]["trees"].pop(2)), "depends on verifiers/strict, which is not sealed",
    ),
    "a tree renamed": (
        _seal(lambda v: v["closure"]["trees"][0].update(path="arms/frog")), "depends on arms/toad, which is not sealed",
    ),
    "a tree added": (
        _seal(lambda v: v["closure"]["trees"].append({**v["closure"]["trees"][0], "path": "zoo"})),
        "zoo is sealed, but the plan does not name it",
    ),
    "a tree that leads out": (
        _seal(lambda v: v["closure"]["trees"][0].update(path="../toad")), "is not made of",
    ),
    "manifest edited": (
        _edit("plans/pond.manifest.jsonl", "Jump.", "Jumb."), "pond.manifest.jsonl: has changed since its seal",
    ),
    "manifest missing": (_remove("plans/pond.manifest.jsonl"), "pond.manifest.jsonl: there is no manifest"),
    "manifest a pipe": (_fifo("plans/pond.manifest.jsonl"), "pond.manifest.jsonl: found a pipe"),
    "source edited": (
        _edit("plans/pond.source.tar", "Hop.", "Hup."), "pond.source.tar: worlds/pond/world.py has digest",
    ),
    "source missing": (_remove("plans/pond.source.tar"), "pond.source.tar: there is no source archive"),
    "source a link": (_link("plans/pond.source.tar"), "pond.source.tar: found a link"),
    "source another": (
        _seal(lambda v: v["source"].update(digest="sha256:" + "0" * 64)), "its digest differs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_was_touched_since_the_seal_is_named(study: Path, template: Path, attack: str) -> None:
    shutil.copytree(template, study, dirs_exist_ok=True)
    touch, message = ATTACKS[attack]
    touch(study)
    with pytest.raises(SealkitError) as raised:
        open_seal(plan_of(study))
    assert message in str(raised.value)
    assert raised.value.exit_code == 1


def test_a_manifest_of_other_scenarios_than_the_plan_runs_is_refused(study: Path, sealed: SealedPlan) -> None:
    """A seal may be consistent with its files and still not be that of this plan."""
    from sealkit.seal.manifest import write_manifest

    keys = list(sealed.manifest.keys())
    keys.remove(("calm", 1))
    scenarios = [sealed.manifest.scenario(*key) for key in keys]
    other = write_manifest(study / "plans" / "pond.manifest.jsonl", scenarios)
    _rewrite_seal(study, lambda value: value.update(manifest={"count": other.count, "root": other.root}))
    with pytest.raises(UntrustedError, match=r"found scenario \('calm', 3\), but the plan runs \('calm', 1\) there"):
        open_seal(plan_of(study))


def test_a_plan_edited_and_sealed_anew_over_the_old_seal_does_not_fit_its_journal(
    study: Path, sealed: SealedPlan
) -> None:
    edit(plan_of(study), "every time", "at times")
    kept = study / "receipts"
    kept.rename(study / "kept")
    (study / "plans" / "pond.seal.json").unlink()
    make_seal(plan_of(study), now=NOW)
    shutil.rmtree(study / "receipts")
    (study / "kept").rename(study / "receipts")
    again = open_seal(plan_of(study))
    with pytest.raises(UntrustedError, match=r"entry 0: found sealed under pin [0-9a-f]{12}, due sealed under pin"):
        list(again.history())


# --- drift ---------------------------------------------------------------------------------------


def test_a_tree_that_moved_on_refuses_a_run_by_file_and_no_reader(study: Path) -> None:
    check_no_drift(make_seal(plan_of(study), now=NOW))
    edit(study / "worlds/pond/judge.py", "1", "0")
    (study / "verifiers/strict/more.py").write_text("")
    opened = open_seal(plan_of(study))
    assert [(one.path, one.kind) for one in find_drift(opened)] == [
        ("verifiers/strict/more.py", "added"),
        ("worlds/pond/judge.py", "changed"),
    ]
    with pytest.raises(
        UntrustedError,
        match=r"(?s)2 files are not as sealed; put back .*sealkit amend`:\n.*worlds/pond/judge\.py was changed",
    ):
        check_no_drift(opened)


def test_a_tree_that_is_gone_is_drift(study: Path, sealed: SealedPlan) -> None:
    shutil.rmtree(study / "arms" / "toad")
    with pytest.raises(UntrustedError, match="toad: is sealed, but there is no such folder"):
        check_no_drift(sealed)


def test_the_sealed_source_unpacks_although_the_tree_has_moved_on(
    study: Path, sealed: SealedPlan, tmp_path: Path
) -> None:
    before = (study / "worlds/pond/world.py").read_bytes()
    shutil.rmtree(study / "worlds")
    open_seal(plan_of(study)).unpack_source(tmp_path / "fresh")
    assert (tmp_path / "fresh/worlds/pond/world.py").read_bytes() == before


def test_a_seal_is_read_where_there_is_nothing_but_plans_and_receipts(
    study: Path, sealed: SealedPlan, tmp_path: Path
) -> None:
    for name in ("plans", "receipts"):
        shutil.copytree(study / name, tmp_path / "elsewhere" / name)
    opened = open_seal(plan_of(tmp_path / "elsewhere"))
    assert opened.pin == sealed.pin
    assert len(list(opened.history())) == 1


def test_an_external_world_seals_without_scenarios(study: Path) -> None:
    edit(
        plan_of(study),
        "{kind: reference, name: pond, params: {lilies: 3}}",
        "{kind: external, run: [./sea], trees: [sea], seconds: 9}",
    )
    edit(plan_of(study), "evidence: traced", "evidence: recorded")
    edit(plan_of(study), "judge: worlds/pond/judge", "judge: null")
    edit(
        plan_of(study),
        "    frog: {role: control, scripted: frog}",
        "    frog: {role: control, models: [], options: {}}",
    )
    edit(
        plan_of(study),
        "toad: {role: treatment, arm: arms/toad, models: [], options: {warts: 12}}",
        "toad: {role: treatment, models: [], options: {}}",
    )
    (study / "sea").write_bytes(b"#!/bin/sh\n")
    with pytest.raises(UsageError, match=r"sea may not be run: it is not executable; chmod \+x sea"):
        make_seal(plan_of(study), now=NOW)
    (study / "sea").chmod(0o755)
    sealed = make_seal(plan_of(study), now=NOW)
    assert sealed.seal.manifest.count == 0
    assert [entry.path for entry in sealed.seal.closure.files] == ["sea"]
    assert open_seal(plan_of(study)).pin == sealed.pin


def test_the_record_has_one_spelling(sealed: SealedPlan) -> None:
    assert digest_bytes(encode_record(sealed.seal) + b"\n") == sealed.pin
    history = open_history(sealed.receipts, inside=sealed.study, first=sealed.first)
    assert len(list(history)) == 1
