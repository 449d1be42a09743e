"""Amendments on disk: what they say, that every part is checked when they are opened, and that a crash is completed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from sealkit.seal import amend as amending_module
from sealkit.seal import archive
from sealkit.seal.amend import amending, withdraw
from sealkit.seal.changelog import CHANGELOG, blocks_due, check_changelog
from sealkit.seal.commitment import Amendment, Impact
from sealkit.seal.seal import make_seal
from sealkit.seal.sealed import SealedPlan, check_no_drift, find_drift, open_seal
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import OutOfOrderError, SealkitError, UntrustedError, UsageError
from sealkit.wire.events import Amended, Attempted, Event, Looked, Opened, Sealed, Slot, Withdrawn
from tests.seal.studies import NOW, edit, make_study, plan_of, snapshot
from tests.seal.test_seal import Dying, Stop, archive_write

LATER = NOW + timedelta(hours=1)
REASON = "the world lost a line"
SLOT: Slot = {"arm": "frog", "family": "calm", "seed": 0}


pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed study, to be copied."""
    root = make_study(tmp_path_factory.mktemp("template"))
    make_seal(plan_of(root), now=NOW).close()
    return root


@pytest.fixture(scope="module")
def amended_template(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with two amendments, to be copied: its world after a smoke slot, then a hypothesis after a first episode."""
    root = Path(shutil.copytree(template, tmp_path_factory.mktemp("amended") / "study"))
    append(root, smoke())
    edit(root / "worlds/pond/world.py", '"Jump."', '"Jump now."')
    record(root).close()
    append(root, tried(open_seal(plan_of(root))))
    edit(plan_of(root), "every time", "at times")
    record(root, now=LATER + timedelta(hours=1), reason="the prediction was too bold").close()
    return root


@pytest.fixture
def study(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "study"))


@pytest.fixture
def amended(amended_template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(amended_template, tmp_path / "study"))


def smoke() -> Callable[[SealedPlan], Event]:
    return lambda sealed: Attempted(stage="smoke", pin=sealed.latest.pin, slot=SLOT | {"seed": 1}, attempt=1)


def tried(sealed: SealedPlan) -> Event:
    return Attempted(stage="confirmatory", pin=sealed.latest.pin, slot=SLOT, attempt=1)


def append(study: Path, event: Event | Callable[[SealedPlan], Event]) -> None:
    sealed = open_seal(plan_of(study))
    made = event(sealed) if callable(event) else event
    if isinstance(made, Attempted):  # a run is opened before it tries anything
        opened = Opened(stage=made.stage, pin=made.pin, sealkit="0.1.0", environment=made.pin)
        sealed.journal().append(opened, now=NOW)
    sealed.journal().append(made, now=NOW)
    sealed.close()


def record(
    study: Path,
    *,
    now: datetime = LATER,
    reason: str = REASON,
    superseded: Sequence[Slot] = (),
    impact: Impact | None = None,
) -> SealedPlan:
    """Amend the study as its files are now."""
    with amending(plan_of(study), now=now) as draft:
        return draft.commit(draft.amendment(reason=reason, superseded=superseded, impact=impact))


def events(study: Path) -> list[Event]:
    sealed = open_seal(plan_of(study))
    return [entry.event for entry in sealed.history().entries()]


# --- what is recorded ------------------------------------------------------------------------------


def test_an_amendment_commits_to_everything_anew_and_names_the_pin_before_it(study: Path) -> None:
    before = open_seal(plan_of(study))
    append(study, smoke())
    edit(study / "worlds/pond/world.py", '"Jump."', '"Jump now."')
    sealed = record(study)
    raw = (study / "plans/pond.A-0001.json").read_bytes()
    amendment = decode_record(raw[:-1], Amendment)
    assert raw == encode_record(amendment) + b"\n"
    assert [pinned.pin for pinned in sealed.pins] == [before.pin, digest_bytes(raw)]
    assert sealed.pin == before.pin and sealed.latest.pin == digest_bytes(raw)
    assert (amendment.number, amendment.previous, amendment.reason) == (1, before.pin, REASON)
    assert (amendment.made_at, amendment.phase, amendment.data_access) == (
        "2026-11-30T13:00:00Z", "after_smoke", "none_collected",
    )  # fmt: skip
    assert amendment.plan == before.seal.plan  # every section has the digest that it had
    assert [str(file) for file in amendment.changed.harness] == ["worlds/pond/world.py changed"]
    assert (amendment.changed.protected, amendment.changed.ruling, amendment.changed.scenarios) == ((), (), 9)
    assert amendment.source.digest == digest_bytes((study / "plans/pond.A-0001.source.tar").read_bytes())
    assert (
        amendment.head == f"3:{digest_bytes((study / 'receipts/pond-v1/journal.jsonl').read_bytes().splitlines()[2])}"
    )
    first, _, *rest = events(study)
    assert first == Sealed(plan="pond-v1", pin=before.pin)
    assert rest == [smoke()(before), Amended(number=1, pin=sealed.latest.pin, phase="after_smoke")]


def test_a_data_file_beside_the_judge_is_ruling_for_whoever_opens_the_amendment_too(study: Path) -> None:
    edit(study / "worlds/pond/SPEC.md", "A frog jumps.", "A frog hops.")
    sealed = record(study)
    assert isinstance(amendment := sealed.latest.commitment, Amendment) and not amendment.changed.harness
    assert [file.path for file in amendment.changed.ruling] == ["worlds/pond/SPEC.md"]


def test_what_is_written_once_is_never_touched_again(study: Path) -> None:
    edit(study / "worlds/pond/world.py", "Hop.", "Hup.")
    record(study)
    first = snapshot(study / "plans")
    edit(study / "worlds/pond/world.py", "Hup.", "Hip.")
    record(study)
    second = snapshot(study / "plans")
    assert {name: second[name] for name in first} == first
    assert set(second) - set(first) == {f"pond.A-0002.{suffix}" for suffix in ("json", "manifest.jsonl", "source.tar")}


def test_each_pin_keeps_its_plan_its_scenarios_its_judge_and_its_source(amended: Path, tmp_path: Path) -> None:
    sealed = open_seal(plan_of(amended))
    says = [pinned.plan.spec.hypotheses["frog"].says for pinned in sealed.pins]
    assert says == ["the frog succeeds every time"] * 2 + ["the frog succeeds at times"]
    assert sealed.plan is sealed.latest.plan and sealed.plan.where("hypotheses").startswith(str(plan_of(amended)))
    briefings = [pinned.manifest.scenario("calm", 0).briefing for pinned in sealed.pins]
    assert briefings == ["Jump.", "Jump now.", "Jump now."]
    trusted = [pinned.trusted(SLOT) for pinned in sealed.pins]
    assert [one.pin for one in trusted] == [pinned.pin for pinned in sealed.pins]
    assert trusted[0].judge != trusted[1].judge == trusted[2].judge  # the tree that holds the judge holds the world too
    for pinned, said in zip(sealed.pins, briefings, strict=True):
        pinned.unpack_source(tmp_path / str(pinned.number))
        assert said in (tmp_path / str(pinned.number) / "worlds/pond/world.py").read_text()
    assert sealed.under(sealed.pins[1].pin) is sealed.pins[1]
    with pytest.raises(UntrustedError, match="an episode of another pin"):
        sealed.under(digest_bytes(b"no pin"))


def test_drift_is_told_from_the_latest_pin(study: Path) -> None:
    edit(study / "worlds/pond/world.py", "Hop.", "Hup.")
    with pytest.raises(UntrustedError, match=r"(?s)sealkit amend.*worlds/pond/world\.py was changed"):
        check_no_drift(open_seal(plan_of(study)))
    record(study)
    check_no_drift(open_seal(plan_of(study)))
    edit(study / "worlds/pond/world.py", "Hup.", "Hop.")  # back to what was sealed first
    assert [one.path for one in find_drift(open_seal(plan_of(study)))] == ["worlds/pond/world.py"]


def test_an_edited_plan_is_refused_by_name_of_the_last_amendment(amended: Path) -> None:
    edit(plan_of(amended), "at times", "often")
    with pytest.raises(UntrustedError, match=r"pond\.yaml: has changed since amendment 2: section hypotheses differs"):
        open_seal(plan_of(amended))
    record(amended).close()
    assert open_seal(plan_of(amended)).plan.spec.hypotheses["frog"].says == "the frog succeeds often"


def test_an_amended_study_is_read_where_there_is_nothing_but_plans_and_receipts(amended: Path, tmp_path: Path) -> None:
    for name in ("plans", "receipts"):
        shutil.copytree(amended / name, tmp_path / "elsewhere" / name)
    opened = open_seal(plan_of(tmp_path / "elsewhere"))
    assert len(opened.pins) == 3 and len(list(opened.history())) == 7


def test_superseded_blocks_and_impact_are_recorded(study: Path) -> None:
    edit(study / "worlds/pond/world.py", "Hop.", "Hup.")
    blocks: list[Slot] = [{"family": "windy", "seed": 7}, {"family": "calm", "seed": 3}]
    sealed = record(study, superseded=blocks, impact=Impact(episodes=12, differ=2))
    assert sealed.latest.superseded == tuple(blocks)
    assert sealed.latest.supersedes({"arm": "toad", "family": "calm", "seed": 3})
    assert not sealed.latest.supersedes({"arm": "toad", "family": "calm", "seed": 0})
    assert not sealed.pins[0].supersedes({"arm": "toad", "family": "calm", "seed": 3})


@pytest.mark.parametrize(
    "blocks",
    [
        [{"family": "windy", "seed": 8}],
        [{"family": "windy"}],
        [{"family": "windy", "seed": 7, "arm": "frog"}],
        [{"family": "windy", "seed": 7}, {"family": "windy", "seed": 7}],
        [{"family": "calm", "seed": 3}, {"family": "windy", "seed": 7}],
    ],
)
def test_what_is_no_block_cannot_be_superseded(study: Path, blocks: list[Slot]) -> None:
    edit(study / "worlds/pond/world.py", "Hop.", "Hup.")
    with pytest.raises(UntrustedError, match="supersedes what is no block of the plan, or one twice, or out of order"):
        record(study, superseded=blocks)


# --- what is refused -------------------------------------------------------------------------------


def test_nothing_changed_is_nothing_to_amend(amended: Path) -> None:
    before = snapshot(amended)
    with pytest.raises(OutOfOrderError, match=r"pond\.yaml: nothing has changed since amendment 2"):
        record(amended)
    assert snapshot(amended) == before


def test_a_plan_that_is_not_sealed_is_not_amended(tmp_path: Path) -> None:
    with pytest.raises(OutOfOrderError, match="the plan is not sealed"):
        record(make_study(tmp_path / "fresh"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("id: pond-v1", "id: pond-v2", "found the id pond-v2, but the sealed plan is pond-v1"),
        ("data_access: none_collected", "data_access: seen", "found seen, but none_collected was stated at the seal"),
        ("seed: [1]", "seed: [7]", "7 is both a smoke and a confirmatory seed"),
        ("worlds/pond/judge", "worlds/sea/judge", "there is no such folder"),
    ],
)
def test_what_no_amendment_may_change(study: Path, old: str, new: str, message: str) -> None:
    edit(plan_of(study), old, new)
    before = snapshot(study)
    with pytest.raises(UsageError, match=message):
        record(study)
    assert snapshot(study) == before


@pytest.mark.parametrize(
    "reason", ["", "  ", "two\nlines", "a \x1b[31m colour", " led by a space", "x" * 2001, "a\u202eb"]
)
def test_a_reason_is_one_printable_line(study: Path, reason: str) -> None:
    edit(study / "worlds/pond/world.py", "Hop.", "Hup.")
    before = snapshot(study)
    with pytest.raises(UsageError, match="--reason: a reason is one printable line"):
        record(study, reason=reason)
    with pytest.raises(UsageError, match="--reason: a reason is one printable line"):
        withdraw(plan_of(study), "all", reason=reason, now=NOW)
    assert snapshot(study) == before


def test_a_file_that_changes_meanwhile_is_refused(study: Path) -> None:
    edit(study / "worlds/pond/world.py", "Hop.", "Hup.")
    with amending(plan_of(study), now=LATER) as draft:
        amendment = draft.amendment(reason=REASON)
        edit(study / "worlds/pond/world.py", "Hup.", "Hip.")
        with pytest.raises(UntrustedError, match="was changed while it was being sealed"):
            draft.commit(amendment)
    assert not (study / "plans/pond.A-0001.json").exists()
    assert record(study).latest.number == 1


def test_two_at_once_make_one(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(study / "worlds/pond/world.py", "Hop.", "Hup.")
    write, seen = amending_module.write_archive, []

    def meanwhile(*args: object, **kwargs: object) -> object:
        with pytest.raises(OutOfOrderError, match="another sealkit is at work here"):
            record(study)
        seen.append(1)
        return write(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(amending_module, "write_archive", meanwhile)
    record(study)
    assert seen and len(open_seal(plan_of(study)).pins) == 2


# --- withdrawal ------------------------------------------------------------------------------------


def test_a_claim_is_withdrawn_once(study: Path) -> None:
    withdraw(plan_of(study), "it-jumps", reason="it did not", now=LATER)
    assert events(study)[1:] == [Withdrawn(what="it-jumps", reason="it did not")]
    with pytest.raises(OutOfOrderError, match="it-jumps was withdrawn before"):
        withdraw(plan_of(study), "it-jumps", reason="again", now=LATER)
    withdraw(plan_of(study), "all", reason="nothing holds", now=LATER)
    with pytest.raises(OutOfOrderError, match="it-jumps was withdrawn before"):
        withdraw(plan_of(study), "it-jumps", reason="again", now=LATER)
    with pytest.raises(UsageError, match="the plan has no claim 'it-swims'; it has it-jumps"):
        withdraw(plan_of(study), "it-swims", reason="again", now=LATER)
    text = (study / CHANGELOG).read_text()
    assert text.count("## pond-v1 withdrawal, 2026-11-30T13:00:00Z") == 2
    assert "- withdrawn: claim it-jumps\n" in text and "- withdrawn: all claims\n" in text


def test_withdrawing_needs_no_working_tree_and_no_unchanged_plan(study: Path) -> None:
    edit(plan_of(study), "every time", "at times")
    shutil.rmtree(study / "worlds")
    withdraw(plan_of(study), "all", reason="nothing holds", now=LATER)
    edit(plan_of(study), "at times", "every time")
    assert isinstance(events(study)[-1], Withdrawn)


# --- hands on the folder ---------------------------------------------------------------------------


def rewritten(change: Callable[[dict], object], number: int = 2) -> Callable[[Path], object]:  # type: ignore[type-arg]
    def apply(study: Path) -> None:
        path = study / f"plans/pond.A-000{number}.json"
        value = json.loads(path.read_bytes())
        change(value)
        path.write_bytes(json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n")

    return apply


def removed(*names: str) -> Callable[[Path], object]:
    return lambda study: [(study / "plans" / name).unlink() for name in names]


def replaced(name: str, old: bytes, new: bytes) -> Callable[[Path], object]:
    def apply(study: Path) -> None:
        path = study / "plans" / name
        data = path.read_bytes()
        assert old in data
        path.write_bytes(data.replace(old, new, 1))

    return apply


def moved(name: str, to: str) -> Callable[[Path], object]:
    return lambda study: (study / "plans" / name).rename(study / "plans" / to)


def copied(name: str, to: str) -> Callable[[Path], object]:
    return lambda study: shutil.copy(study / "plans" / name, study / "plans" / to)


ZEROS = "sha256:" + "0" * 64
ATTACKS: dict[str, tuple[Callable[[Path], object], str]] = {
    # the record
    "a reason edited": (replaced("pond.A-0001.json", b"lost a line", b"kept a line"), "it is amendment 2 after pin"),
    "the last reason edited": (replaced("pond.A-0002.json", b"too bold", b"too shy"), "is [0-9a-f]{12}; one of them was edited"),
    "spelled otherwise": (replaced("pond.A-0001.json", b'":', b'": '), "pond.A-0001.json: not the canonical spelling"),
    "an unknown field": (rewritten(lambda v: v.update(more=1)), "pond.A-0002.json: "),
    "cut": (lambda s: os.truncate(s / "plans/pond.A-0002.json", 800), "pond.A-0002.json: found no newline at its end"),
    "empty": (lambda s: os.truncate(s / "plans/pond.A-0002.json", 0), "pond.A-0002.json: found no newline at its end"),
    "vast": (lambda s: (s / "plans/pond.A-0002.json").write_bytes(b"[" * 5 * 2**20), "more than 4194305 bytes"),
    "deep": (lambda s: (s / "plans/pond.A-0002.json").write_bytes(b"[" * 9000 + b"\n"), "pond.A-0002.json: "),
    "another number": (rewritten(lambda v: v.update(number=3)), "it is amendment 3 after pin [0-9a-f]{12}, due 2 after"),
    "another pin before it": (rewritten(lambda v: v.update(previous=ZEROS)), "it is amendment 2 after pin 000000000000, due 2"),
    "another time": (rewritten(lambda v: v.update(made_at="yesterday")), "made_at is 'yesterday'"),
    "backdated": (rewritten(lambda v: v.update(made_at="2020-01-01T00:00:00Z")), "one of them was edited"),
    "a reason of two lines": (rewritten(lambda v: v.update(reason="a\nb")), "a reason is one printable line"),
    "no reason": (rewritten(lambda v: v.update(reason="")), "a reason is one printable line"),
    "no head": (rewritten(lambda v: v.update(head="5")), "due N:sha256:"),
    "an earlier phase": (rewritten(lambda v: v.update(phase="before_any_episode")), "does not follow from it|says before_any"),
    "another plan's": (rewritten(lambda v: v["plan"].update(path="plans/x.yaml")), "it seals 'plans/x.yaml', not this plan"),
    "another id": (rewritten(lambda v: v["plan"].update(id="x")), "says of the plan what the plan does not"),
    "another data access": (rewritten(lambda v: v.update(data_access="seen")), "says of the plan what the plan does not"),
    "a section called unchanged": (rewritten(lambda v: v["changed"].update(protected=[])), "what it says has changed is not"),
    "a section called changed": (
        rewritten(lambda v: v["changed"].update(protected=["hypotheses", "metrics"])), "what it says has changed is not"),
    "a protected section called described": (
        rewritten(lambda v: v["changed"].update(protected=[], described=["hypotheses"])), "what it says has changed is not"),
    "a file left out": (rewritten(lambda v: v["changed"].update(harness=[]), 1), "what it says has changed is not what has"),
    "ruling code called harness": (
        rewritten(lambda v: v["changed"].update(ruling=v["changed"]["harness"], harness=[]), 1), "what it says has changed"),
    "scenarios left out": (rewritten(lambda v: v["changed"].update(scenarios=0), 1), "what it says has changed is not what"),
    "a kinder effect": (rewritten(lambda v: v.update(effect=["claims stay as they are"])), "does not follow from it"),
    "a digest of a section edited": (
        rewritten(lambda v: v["plan"]["sections"].update(hypotheses=ZEROS)), "section hypotheses differs"),
    "a block superseded": (
        rewritten(lambda v: v.update(superseded=[{"family": "calm", "seed": 0}])), "does not follow from it"),
    "a tree's root edited": (rewritten(lambda v: v["closure"]["trees"][3].update(root=ZEROS)), "its root is not that"),
    "a tree dropped": (rewritten(lambda v: v["closure"]["trees"].pop(2)), "depends on verifiers/strict, which is not sealed"),
    # the files beside it
    "the manifest edited": (replaced("pond.A-0001.manifest.jsonl", b"now", b"noo"), "pond.A-0001.manifest.jsonl: has changed"),
    "the manifest gone": (removed("pond.A-0002.manifest.jsonl"), "pond.A-0002.manifest.jsonl: there is no manifest"),
    "the manifest that was sealed first": (
        copied("pond.manifest.jsonl", "pond.A-0001.manifest.jsonl"), "pond.A-0001.manifest.jsonl: has changed"),
    "the source edited": (replaced("pond.A-0001.source.tar", b"Hop.", b"Hup."), "A-0001.source.tar: worlds/pond/world.py has"),
    "the plan in the source edited": (
        replaced("pond.A-0001.source.tar", b"every time", b"every tide"), "A-0001.source.tar: plans/pond.yaml has digest"),
    "the source gone": (removed("pond.A-0001.source.tar"), "pond.A-0001.source.tar: there is no source archive"),
    "the source that was sealed first": (copied("pond.source.tar", "pond.A-0001.source.tar"), "A-0001.source.tar: "),
    # their number
    "the last gone": (removed("pond.A-0002.json"), "pond.yaml: has changed since amendment 1|has an entry, but no file"),
    "the first gone": (removed("pond.A-0001.json"), "found pond.A-0002.json, due pond.A-0001.json; fetch the whole study"),
    "both gone": (removed("pond.A-0001.json", "pond.A-0002.json"), "pond.yaml: has changed since its seal"),
    "a gap": (moved("pond.A-0002.json", "pond.A-0003.json"), "found pond.A-0003.json, due pond.A-0002.json"),
    "one too many": (copied("pond.A-0002.json", "pond.A-0003.json"), "pond.A-0003.source.tar: there is no source archive"),
    "another spelling of its number": (copied("pond.A-0002.json", "pond.A-2.json"), "found pond.A-(2|0002).json, due pond.A-000"),
    "the two swapped": (
        lambda s: (moved("pond.A-0001.json", "x")(s), moved("pond.A-0002.json", "pond.A-0001.json")(s),
                   moved("x", "pond.A-0002.json")(s)), "A-0001.source.tar: plans/pond.yaml has digest"),
}  # fmt: skip


def opened_and_read(study: Path) -> None:
    sealed = open_seal(plan_of(study))
    due = blocks_due(sealed, sealed.history())
    check_changelog(sealed, due)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_was_touched_is_named(amended: Path, attack: str) -> None:
    opened_and_read(amended)
    touch, message = ATTACKS[attack]
    touch(amended)
    with pytest.raises(SealkitError, match=message) as raised:
        opened_and_read(amended)
    assert raised.value.exit_code == 1


@pytest.mark.parametrize("name", ["json", "manifest.jsonl", "source.tar"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_refused(amended: Path, name: str, kind: str) -> None:
    path = amended / "plans" / f"pond.A-0001.{name}"
    path.rename(amended / "kept")
    if kind == "link":
        path.symlink_to(amended / "kept")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(SealkitError, match=f"pond.A-0001.{name}: found a {kind}"):
        open_seal(plan_of(amended))


def test_an_amendment_made_anew_with_its_plan_does_not_fit_the_journal(amended: Path) -> None:
    """Everything beside the plan is coherent, and the journal knows another pin."""
    for path in (amended / "plans").glob("pond.A-0002*"):
        path.unlink()
    kept = amended.with_name("kept")
    shutil.move(amended / "receipts", kept)
    shutil.copytree(kept, amended / "receipts")
    folder = amended / "receipts/pond-v1"
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)[:-1]
    (folder / "journal.jsonl").write_bytes(b"".join(lines))
    head = json.loads((folder / "HEAD").read_bytes())
    head |= {"count": len(lines), "digest": digest_bytes(lines[-1][:-1]), "size": sum(map(len, lines))}
    (folder / "HEAD").write_bytes(json.dumps(head, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    text = (amended / CHANGELOG).read_text()
    (amended / CHANGELOG).write_text(text[: text.index("## pond-v1 A-0002")])
    edit(plan_of(amended), "at times", "often")
    record(amended, reason="another past").close()
    shutil.rmtree(amended / "receipts")
    shutil.move(kept, amended / "receipts")
    with pytest.raises(UntrustedError, match=r"found amendment 2 of pin [0-9a-f]{12}, but pond\.A-0002\.json is"):
        list(open_seal(plan_of(amended)).history())


# --- crashes ---------------------------------------------------------------------------------------


def is_whole(study: Path) -> bool:
    """Whether an amendment has all its parts; a part that is missing is named."""
    try:
        opened_and_read(study)
    except SealkitError as error:
        assert any(words in str(error) for words in ("amendment 1", CHANGELOG, "HEAD", "torn tail")), error
        return False
    return True


@pytest.mark.slow
def test_a_crash_at_any_moment_is_completed_by_the_next_call(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop before each system call that puts a file in its place, in turn, and then amend again."""
    write = archive_write(os.write)
    append(study, Looked(what="a test"))
    edit(study / "worlds/pond/world.py", "Hop.", "Hup.")
    edit(plan_of(study), "every time", "at times")
    incomplete = finished = 0
    for stop_at in range(1, 200):
        fresh = Path(shutil.copytree(study, study.with_name(f"study{stop_at}")))
        dying, died = Dying(stop_at), False
        with monkeypatch.context() as patch:
            for name in ("replace", "link", "unlink", "ftruncate"):
                patch.setattr(os, name, dying.wrap(getattr(os, name)))
            patch.setattr(os, "write", dying.wrap(os.write))
            patch.setattr(archive, "write_all", write)  # its hundred writes put nothing in place
            try:
                record(fresh).close()
            except Stop:
                died = True
        if not died:
            finished = stop_at
            break
        there = (fresh / "plans/pond.A-0001.json").exists()
        whole = there and is_whole(fresh)
        incomplete += there and not whole
        with amending(plan_of(fresh), now=LATER) as draft:
            if there:
                assert bool(draft.completed) is not whole
                with pytest.raises(OutOfOrderError, match="nothing has changed since amendment 1"):
                    draft.amendment(reason="again")
            else:
                assert not draft.completed
                draft.commit(draft.amendment(reason=REASON)).close()
        opened_and_read(fresh)
        kinds = [type(event).__name__ for event in events(fresh)]
        assert kinds.count("Amended") == 1 and len(open_seal(plan_of(fresh)).pins) == 2
        shutil.rmtree(fresh)
    assert finished > 8 and incomplete >= 4


def test_a_crash_while_withdrawing_is_completed_by_the_next_call(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    incomplete = 0
    for stop_at in range(1, 50):
        fresh = Path(shutil.copytree(study, study.with_name(f"study{stop_at}")))
        dying, died = Dying(stop_at), False
        with monkeypatch.context() as patch:
            for name in ("replace", "link", "unlink", "ftruncate", "write"):
                patch.setattr(os, name, dying.wrap(getattr(os, name)))
            try:
                withdraw(plan_of(fresh), "all", reason="nothing holds", now=LATER)
            except Stop:
                died = True
        if not died:
            break
        try:
            withdraw(plan_of(fresh), "all", reason="nothing holds", now=LATER)
        except OutOfOrderError:
            incomplete += 1
        opened_and_read(fresh)
        assert sum(isinstance(event, Withdrawn) for event in events(fresh)) == 1
    assert not died and incomplete >= 2


def test_nothing_runs_on_an_amendment_without_its_entry(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(study / "worlds/pond/world.py", "Hop.", "Hup.")
    with monkeypatch.context() as patch:
        patch.setattr(amending_module, "_complete", lambda sealed, now: ())
        record(study).close()
    with pytest.raises(UntrustedError, match=r"amendment 1 \(pond\.A-0001\.json\) has no entry .*`sealkit amend PLAN`"):
        events(study)
    with amending(plan_of(study), now=LATER) as draft:
        assert draft.completed == (
            "amendment 1 has its entry in the journal", "the changelog has its blocks, 1 new",
        )  # fmt: skip
    assert events(study)[-1] == Amended(number=1, pin=open_seal(plan_of(study)).latest.pin, phase="before_any_episode")
