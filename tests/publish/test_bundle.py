"""Bundles: checked on another machine from nothing but themselves, and whatever else a stranger may send."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sealkit.publish.bundle import opened_bundle
from sealkit.seal.archive import BLOCK, header, read_members
from sealkit.wire.canon import encode_value
from sealkit.wire.errors import MalformedError
from tests.studies import ID, PLAN, Outcome, call, ok

Members = list[tuple[str, bytes]]
END = bytes(2 * BLOCK)


@pytest.fixture(scope="session")
def bundle_once(published_once: Path) -> bytes:
    (path,) = (published_once / "publications").glob("*/bundle.tar")
    return path.read_bytes()


@pytest.fixture
def elsewhere(tmp_path: Path, state: Path) -> Path:
    """A folder of a machine that never saw the study."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def members(bundle: bytes) -> Members:
    return list(read_members(io.BytesIO(bundle), where="bundle.tar", most=2**28))


def packed(parts: Members) -> bytes:
    return b"".join(header(name, len(data)) + data + bytes(-len(data) % BLOCK) for name, data in sorted(parts)) + END


def verify(folder: Path, bundle: bytes, *more: str) -> Outcome:
    (folder / "bundle.tar").write_bytes(bundle)
    return call("verify", "bundle.tar", *more, cwd=folder)


# --- as it is ------------------------------------------------------------------------------------


@pytest.mark.parametrize("replay", [(), ("--replay=unsafe",)])
def test_a_bundle_verifies_from_another_folder(elsewhere: Path, bundle_once: bytes, replay: tuple[str, ...]) -> None:
    found = ok(verify(elsewhere, bundle_once, *replay, "--json"))
    (study,) = json.loads(found.out)["studies"]
    assert {name: arm["admitted"] for name, arm in study["arms"].items()} == {"oracle": 4, "tracker": 4}
    assert bool(study["isolation"]) is bool(replay)
    said = " ".join(study["notes"])
    assert ("was derived again, the same bytes" in said) is bool(replay)
    assert "working tree" not in said  # a bundle has none


def test_a_bundle_holds_the_study_up_to_its_analysis_and_nothing_else(bundle_once: bytes, published_once: Path) -> None:
    parts = dict(members(bundle_once))
    plans = {f"plans/part.{suffix}" for suffix in ("yaml", "seal.json", "manifest.jsonl", "source.tar")}
    receipts = {f"receipts/{ID}/{name}" for name in ("HEAD", "episodes.jsonl", "journal.jsonl")}
    assert parts.keys() == plans | receipts
    whole = (published_once / "receipts" / ID / "journal.jsonl").read_bytes()
    prefix = parts[f"receipts/{ID}/journal.jsonl"]
    assert whole.startswith(prefix) and whole != prefix  # `published` comes after
    assert json.loads(prefix.splitlines()[-1])["event"]["kind"] == "analysed"
    for name in plans:
        assert parts[name] == (published_once / name).read_bytes()


def test_any_tar_reads_it(bundle_once: bytes) -> None:
    with tarfile.open(fileobj=io.BytesIO(bundle_once)) as tar:
        assert [member.name for member in tar] == [name for name, _ in members(bundle_once)]
        assert {(member.mode, member.mtime, member.uid) for member in tar} == {(0o644, 0, 0)}


def test_a_bundle_that_is_shorter_than_what_this_machine_has_seen_says_so(
    published: Path, bundle_once: bytes, state: Path
) -> None:
    ok(call("verify", "receipts", cwd=published))  # this machine has seen the study further than the bundle goes
    said = ok(verify(published.parent, bundle_once)).out
    count = len(dict(members(bundle_once))[f"receipts/{ID}/journal.jsonl"].splitlines())
    assert f"this machine has seen {count + 1} entries of this journal" in said
    assert f"the bundle ends after {count}, with the analysis of its edition, and the two agree that far" in said
    assert "anchored by: this machine" in said
    known = state / "sealkit" / "known_heads"
    furthest = [line for line in known.read_bytes().splitlines(True) if json.loads(line)["count"] > count]
    ours = known.read_bytes()
    known.write_bytes(b"".join(furthest))  # as a machine that saw the study only when it had gone on
    said = ok(verify(published.parent, bundle_once)).out
    assert "not compared: it does not remember that place" in said and "anchored by: nothing outside" in said
    elsewhere = [{**json.loads(line), "digest": "sha256:" + "0" * 64} for line in ours.splitlines()]
    known.write_bytes(b"".join(encode_value(line) + b"\n" for line in elsewhere))
    assert "but this machine, which saw it on" in (refused := verify(published.parent, bundle_once)).err
    assert refused.code == 1
    known.write_bytes(ours)
    assert "anchored by: this machine" in ok(call("verify", "receipts", cwd=published)).out
    assert "has seen" not in ok(verify(published.parent, bundle_once, "--no-remember")).out


def test_a_bundle_is_held_against_what_this_machine_has_seen_before_it(
    study: Path, bundle_once: bytes, elsewhere: Path, state: Path
) -> None:
    """The bundle goes as far as the study that was analysed, which another machine may have analysed otherwise."""
    ok(call("verify", "receipts", cwd=study))
    assert "anchored by: this machine" in ok(verify(elsewhere, bundle_once)).out
    known = state / "sealkit" / "known_heads"
    ours = known.read_bytes()
    digest = json.loads(ours)["digest"].encode()
    known.write_bytes(ours.replace(digest, b"sha256:" + b"0" * 64))
    refused = verify(elsewhere, bundle_once)
    assert refused.code == 1 and "but this machine, which saw it on" in refused.err


def test_a_bundle_is_remembered_and_a_second_seal_of_the_same_plan_is_told(
    published: Path, bundle_once: bytes, elsewhere: Path, state: Path
) -> None:
    ok(verify(elsewhere, bundle_once))
    known = state / "sealkit" / "known_heads"
    ours = json.loads(known.read_bytes())
    assert ours["plan"] == ID
    other = {**ours, "pin": "sha256:" + "0" * 64}
    known.write_text(json.dumps(other, sort_keys=True, separators=(",", ":")) + "\n")
    assert f"seen another seal of a plan called {ID}: 000000000000" in ok(verify(elsewhere, bundle_once)).out


# --- as it was not made --------------------------------------------------------------------------


def swapped(name: str, old: bytes, new: bytes) -> Callable[[Members], Members]:
    def edit(parts: Members) -> Members:
        changed = [(path, data.replace(old, new, 1) if path.endswith(name) else data) for path, data in parts]
        assert changed != parts
        return changed

    return edit


def without(name: str) -> Callable[[Members], Members]:
    return lambda parts: [(path, data) for path, data in parts if not path.endswith(name)]


EDITS: dict[str, tuple[Callable[[Members], Members], str]] = {
    "episode": (swapped("episodes.jsonl", b'"final"', b'"budget"'), "episodes.jsonl"),
    "journal": (swapped("journal.jsonl", b'"attempt":1', b'"attempt":2'), "journal.jsonl entry"),
    "head": (swapped("HEAD", b'"count":', b'"count":1'), "HEAD"),
    "plan": (swapped("part.yaml", b"seed: 0..1", b"seed: 0..1 "), "part.yaml"),
    "seal": (swapped("seal.json", b'"none_collected"', b'"seen"'), "part"),
    "manifest": (swapped("manifest.jsonl", b"noise", b"Noise"), "manifest"),
    "source": (swapped("source.tar", b"def judge", b"def jud9e"), "source.tar"),
    "no seal": (without("seal.json"), "found 0 seals, due one"),
    "no journal": (without("journal.jsonl"), "found 0 journals, due one"),
    "no episodes": (without("episodes.jsonl"), "episodes.jsonl"),
    "no head": (without("HEAD"), "HEAD"),
    "no source": (without("source.tar"), "source.tar"),
    "no plan": (without("part.yaml"), "part.yaml"),
    "nothing": (lambda parts: [], "found 0 seals, due one"),
    "a second study": (
        lambda parts: [*parts, *((name.replace("part", "twin"), data) for name, data in parts)], "found 2 seals, due one",
    ),
    "other receipts": (lambda parts: [*parts, ("receipts/other/HEAD", b"")], "receipts of 2 plans"),
    "a world": (lambda parts: [*parts, ("worlds/house/__init__.py", b"")], "worlds/house/__init__.py is no part"),
    "deeper": (lambda parts: [*parts, ("plans/more/part.yaml", b"")], "plans/more/part.yaml is no part"),
    "a file for a folder": (lambda parts: [*parts, ("plans", b"")], "plans is no part of a bundle"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_bundle_is_refused_and_the_part_is_named(edit: str, elsewhere: Path, bundle_once: bytes) -> None:
    change, says = EDITS[edit]
    found = verify(elsewhere, packed(change(members(bundle_once))))
    assert found.code == 1, found.said
    assert says in found.err, found.said


def raw(name: bytes, data: bytes = b"", flag: bytes = b"0", link: bytes = b"") -> bytes:
    """A member with any header, its checksum right."""
    block = bytearray(header("plans/x", len(data)))
    block[:100] = name.ljust(100, b"\0")
    block[156:157] = flag
    block[157:257] = link.ljust(100, b"\0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + data + bytes(-len(data) % BLOCK)


HOSTILE: dict[str, tuple[bytes, str]] = {
    "a link": (raw(b"plans/part.yaml", flag=b"2", link=b"/etc/passwd"), "holds a link, due files alone"),
    "a hard link": (raw(b"plans/part.yaml", flag=b"1", link=b"plans/x"), "holds a hard link"),
    "a device": (raw(b"plans/part.yaml", flag=b"3"), "holds a device"),
    "a pipe": (raw(b"plans/part.yaml", flag=b"6"), "holds a pipe"),
    "a folder": (raw(b"plans/", flag=b"5"), "holds a folder"),
    "an extended header": (raw(b"plans/part.yaml", flag=b"x"), "holds an extended header"),
    "up": (raw(b"../plans/part.yaml", b"x"), "is not made of"),
    "up inside": (raw(b"plans/../../part.yaml", b"x"), "is not made of"),
    "absolute": (raw(b"/etc/cron.d/part", b"x"), "is not made of"),
    "a control": (raw(b"plans/\x1b[31m.yaml", b"x"), "is not made of"),
    "twins": (raw(b"plans/Part.yaml", b"x") + raw(b"plans/part.yaml", b"x"), "twice, perhaps but for case"),
    "twice": (raw(b"plans/part.yaml", b"x") * 2, "is there twice"),
    "out of order": (raw(b"plans/b", b"x") + raw(b"plans/a", b"x"), "out of order"),
    "a file above a folder": (raw(b"receipts", b"x") + raw(b"receipts/part/HEAD", b"x"), "is no part of a bundle"),
    "no tar": (b"hello" * 300, "found no ustar header"),
    "empty": (b"", "ends in the middle"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_is_refused_by_name_and_leaves_nothing(
    what: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, says = HOSTILE[what]
    scratch = elsewhere / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    found = verify(elsewhere, data + END if data else b"")
    assert found.code == 1 and says in found.err, found.said
    assert found.err.isprintable() or found.err.rstrip("\n").isprintable()
    assert list(scratch.iterdir()) == []
    assert sorted(path.name for path in elsewhere.iterdir()) == ["bundle.tar", "scratch"]


def test_a_truncated_bundle_is_refused(elsewhere: Path, bundle_once: bytes) -> None:
    for size in (len(bundle_once) - 1, len(bundle_once) - BLOCK, len(bundle_once) // 2, BLOCK + 10):
        found = verify(elsewhere, bundle_once[:size])
        assert found.code == 1 and "bundle.tar" in found.err, (size, found.said)
    assert verify(elsewhere, bundle_once + b"\0").code == 1


class Endless:
    """A bundle that claims more bytes than any bundle has, and would go on for ever."""

    def __init__(self, size: int) -> None:
        self.left = [header("plans/a", size)]
        self.given = 0

    def read(self, size: int) -> bytes:
        data = self.left.pop() if self.left else bytes(size)
        self.given += len(data)
        return data


@pytest.mark.parametrize("size", [2**28 + 1, 8**11 - 1])
def test_an_oversized_member_is_refused_before_it_is_read(size: int) -> None:
    source = Endless(size)
    with pytest.raises(MalformedError, match="due at most"):
        list(read_members(source, where="bundle.tar", most=2**28))
    assert source.given == BLOCK


class ManySmall:
    """More members than any bundle has."""

    def __init__(self) -> None:
        self.given = 0
        self._parts = self._all()

    def _all(self) -> Iterator[bytes]:
        for number in range(30_000):
            yield header(f"plans/{number:05}", 0)

    def read(self, size: int) -> bytes:
        if not size:
            return b""
        self.given += 1
        return next(self._parts)


def test_too_many_members_are_refused() -> None:
    source = ManySmall()
    with pytest.raises(MalformedError, match="more than 20000 files"):
        list(read_members(source, where="bundle.tar"))
    assert source.given <= 20_001


def test_a_link_to_a_bundle_is_no_bundle(elsewhere: Path, bundle_once: bytes) -> None:
    (elsewhere / "real.tar").write_bytes(bundle_once)
    (elsewhere / "bundle.tar").symlink_to("real.tar")
    found = call("verify", "bundle.tar", cwd=elsewhere)
    assert found.code == 1 and "found a link, due a regular file" in found.err


def test_an_opened_bundle_is_gone_afterwards(elsewhere: Path, bundle_once: bytes) -> None:
    (elsewhere / "bundle.tar").write_bytes(bundle_once)
    with opened_bundle(elsewhere / "bundle.tar") as study:
        assert (study / PLAN).is_file()
    assert not study.exists()
