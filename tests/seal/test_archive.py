"""The source archive: the same bytes everywhere, and a reader for archives that may be anything."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sealkit.seal.archive import MAX_MEMBERS, check_archive, contents, header, read_members, unpack, write_archive
from sealkit.seal.closure import Closure, Declared, make_closure
from sealkit.seal.tree import MAX_FILE, Kept, TreeEntry, file_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import MalformedError, OutOfOrderError, SealkitError, UntrustedError
from tests.seal.studies import edit, make_study, snapshot

DECLARED = Declared(trees=("worlds/pond", "verifiers/strict", "arms/toad"), foreign=())


class Sealed:
    """A small study, its closure and its archive."""

    def __init__(self, root: Path) -> None:
        self.study = make_study(root / "study")
        self.closure: Closure = make_closure(self.study, DECLARED)
        self.plan: TreeEntry = file_record(self.study, "plans/pond.yaml")
        self.path = root / "study" / "plans" / "pond.source.tar"
        self.digest, self.size = write_archive(self.path, self.closure, self.plan, study=self.study)

    def check(self) -> None:
        check_archive(self.path, self.closure, self.plan, inside=self.study, digest=self.digest, size=self.size)

    def unpack(self, into: Path) -> None:
        unpack(self.path, into, self.closure, self.plan, inside=self.study, digest=self.digest, size=self.size)

    def reseal(self, data: bytes) -> None:
        """Put other bytes there, and a seal that commits to them: what a hostile author can do."""
        self.path.write_bytes(data)
        self.digest, self.size = digest_bytes(data), len(data)


@pytest.fixture
def sealed(tmp_path: Path) -> Sealed:
    return Sealed(tmp_path)


def test_a_path_too_long_for_one_name_field_is_cut_in_two_and_read_again() -> None:
    """A body in the bundle of a study whose id has 16 characters: its header once had 514 bytes."""
    for folder in (1, 14, 15, 16, 64):
        path = f"receipts/{'i' * folder}/blobs/ab/{'ab' * 32}.gz"
        data = header(path, 3) + b"abc" + bytes(509 + 1024)
        assert len(data) % 512 == 0
        assert [*read_members(io.BytesIO(data), where="x")] == [(path, b"abc")]
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            assert tar.getnames() == [path]
    with pytest.raises(MalformedError, match="fits into no ustar header"):
        header("a/" + "b" * 101, 0)


def test_a_path_cut_elsewhere_than_sealkit_cuts_it_is_refused() -> None:
    path = f"receipts/{'i' * 40}/blobs/ab/{'ab' * 32}.gz"
    block = bytearray(header(path, 0))
    assert path[:49] == block[345:500].rstrip(b"\0").decode()
    block[345:500], block[:100] = path[:55].encode().ljust(155, b"\0"), path[56:].encode().ljust(100, b"\0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    with pytest.raises(MalformedError, match="another mode, owner, time, name or checksum"):
        [*read_members(io.BytesIO(bytes(block) + bytes(1024)), where="x")]


@pytest.mark.parametrize("bound", [0, 100, 1 << 24])
def test_it_is_the_same_bytes_whatever_is_kept_from_the_first_reading(
    bound: int, sealed: Sealed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sealkit.seal.tree.MAX_KEPT", bound)
    kept = Kept()
    closure = make_closure(sealed.study, DECLARED, kept=kept)
    assert (kept.get("sealkit/__init__.py") is not None) == (bound > 100)
    path = tmp_path / "again.tar"
    assert write_archive(path, closure, sealed.plan, study=sealed.study, kept=kept) == (sealed.digest, sealed.size)


def test_any_tar_reads_it_and_its_members_carry_nothing_but_path_and_bytes(sealed: Sealed) -> None:
    due = contents(sealed.closure, sealed.plan)
    with tarfile.open(sealed.path, "r:") as tar:
        members = tar.getmembers()
        assert [member.name for member in members] == list(due)
        for member in members:
            assert (member.mode, member.uid, member.gid, member.mtime) == (0o644, 0, 0, 0)
            assert (member.uname, member.gname, member.type) == ("", "", tarfile.REGTYPE)
            file = tar.extractfile(member)
            assert file is not None and digest_bytes(file.read()) == due[member.name].digest
    listed = subprocess.run(["tar", "tf", sealed.path], capture_output=True, check=True, text=True)
    assert listed.stdout.split() == list(due) and not listed.stderr


def test_a_header_is_the_one_that_pythons_tarfile_writes() -> None:
    info = tarfile.TarInfo("worlds/pond/world.py")
    info.size = 4711
    info.devmajor = info.devminor = 0
    theirs = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    ours = bytearray(header("worlds/pond/world.py", 4711))
    for either in (theirs, ours):  # versions of Python differ in how they write "no device"; so does the checksum
        either[148:156], either[329:345] = bytes(8), bytes(16)
    assert ours == theirs


_SEAL = """
import os, sys
from pathlib import Path
from sealkit.seal.archive import write_archive
from sealkit.seal.closure import Declared, make_closure
from sealkit.seal.tree import file_record
os.umask(int(sys.argv[2], 8))
study = Path(sys.argv[1])
closure = make_closure(study, Declared(trees=("worlds/pond", "verifiers/strict", "arms/toad"), foreign=()))
write_archive(study / "out.tar", closure, file_record(study, "plans/pond.yaml"), study=study)
"""


def test_it_is_the_same_bytes_from_another_process_folder_umask_locale_and_hash_seed(
    sealed: Sealed, tmp_path: Path
) -> None:
    for number, (umask, seed, zone) in enumerate((("000", "0", "UTC"), ("077", "4711", "Asia/Tokyo"))):
        elsewhere = make_study(tmp_path / f"{number}")
        for path in elsewhere.rglob("*"):
            os.utime(path, (number, number))
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C"}
        environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in sys.path)
        command = [sys.executable, "-c", _SEAL, str(elsewhere), umask]
        subprocess.run(command, check=True, cwd=tmp_path, env=environment)
        assert (elsewhere / "out.tar").read_bytes() == sealed.path.read_bytes()


def test_what_is_unpacked_is_what_was_sealed_and_it_runs(sealed: Sealed, tmp_path: Path) -> None:
    edit(sealed.study / "worlds/pond/world.py", "Hop.", "the tree has moved on")
    into = tmp_path / "fresh"
    sealed.unpack(into)
    found = {path: digest_bytes(data) for path, data in snapshot(into).items()}
    assert found == {path: entry.digest for path, entry in contents(sealed.closure, sealed.plan).items()}
    code = (
        f"import sys; sys.path.insert(0, {str(into)!r}); import sealkit; from pathlib import Path; "
        "from sealkit.world.loader import load_world, make_scenario; assert sealkit.__file__.startswith(sys.path[0]); "
        f"print(make_scenario(load_world(Path({str(into)!r}), 'pond'), 'windy', 7, {{'lilies': 3}}).briefing)"
    )
    done = subprocess.run([sys.executable, "-I", "-B", "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "Jump.\n"


def test_a_file_that_changes_while_it_is_sealed_is_noticed(sealed: Sealed) -> None:
    edit(sealed.study / "worlds/pond/world.py", "Hop.", "Hop!")
    with pytest.raises(UntrustedError, match=r"worlds/pond/world\.py: was changed while it was being sealed"):
        write_archive(sealed.path, sealed.closure, sealed.plan, study=sealed.study)
    sealed.check()  # and the archive of before is still there


def test_an_archive_that_was_touched_is_refused(sealed: Sealed) -> None:
    raw = sealed.path.read_bytes()
    place = raw.index(b"Hop.")
    for data, message in (
        (raw[:place] + b"Hup." + raw[place + 4 :], r"worlds/pond/world\.py has digest [0-9a-f]{12}, sealed"),
        (raw[:-512], "has changed since its seal: found"),
        (raw + bytes(512), "has changed since its seal: found"),
        (b"", "has changed since its seal: found 0 bytes"),
    ):
        sealed.path.write_bytes(data)
        with pytest.raises(UntrustedError, match=message):
            sealed.check()
    sealed.path.write_bytes(raw)
    sealed.digest = digest_bytes(b"another")
    with pytest.raises(UntrustedError, match="its digest differs"):
        sealed.check()


def member(name: str, data: bytes = b"x", **changes: object) -> bytes:
    """One member as Python's tarfile writes it, with header fields changed."""
    info = tarfile.TarInfo(name)
    info.size, info.uname, info.gname = len(data), "", ""
    for field, value in changes.items():
        setattr(info, field, value)
    return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "surrogateescape") + data + bytes(-len(data) % 512)


def ours(name: str, data: bytes = b"x") -> bytes:
    """One member as sealkit writes it."""
    return header(name, len(data)) + data + bytes(-len(data) % 512)


def _renamed(raw: bytes, old: bytes, new: bytes) -> bytes:
    """The member with other bytes in its name and the checksum put right."""
    changed = bytearray(raw[:512].replace(old, new))
    changed[148:156] = b" " * 8
    changed[148:156] = b"%06o\0 " % sum(changed)
    return bytes(changed) + raw[512:]


def _pax(name: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo(name)
        info.pax_headers = {"comment": "hidden"}
        tar.addfile(info)
    return stream.getvalue()


def _gnu(name: str) -> bytes:
    return tarfile.TarInfo(name).tobuf(tarfile.GNU_FORMAT)


END = bytes(1024)
HOSTILE: dict[str, tuple[bytes, str]] = {
    "a link": (member("a.py", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "holds a link"),
    "a hard link": (member("a.py", b"", type=tarfile.LNKTYPE, linkname="b.py"), "holds a hard link"),
    "a character device": (member("a.py", b"", type=tarfile.CHRTYPE), "holds a device"),
    "a block device": (member("a.py", b"", type=tarfile.BLKTYPE), "holds a device"),
    "a pipe": (member("a.py", b"", type=tarfile.FIFOTYPE), "holds a pipe"),
    "a folder": (member("a", b"", type=tarfile.DIRTYPE), "holds a folder"),
    "a contiguous file": (member("a.py", type=tarfile.CONTTYPE), "holds a member of unknown kind"),
    "a file in the old form": (member("a.py", type=tarfile.AREGTYPE), "holds a file in the old form"),
    "an extended header": (_pax("a.py"), "holds an extended header"),
    "a header of GNU tar": (_gnu("a.py"), "found no ustar header"),
    "compressed": (gzip.compress(ours("a.py") + END), "no ustar header|in the middle"),
    "an absolute path": (ours("/etc/cron.d/a"), "'/etc/cron.d/a' is not made of"),
    "a path upwards": (ours("../a.py"), "'../a.py' is not made of"),
    "a path upwards inside": (ours("a/../../a.py"), "is not made of"),
    "no path": (ours(""), "'' is not made of"),
    "a backslash": (ours("a\\b.py"), "is not made of"),
    "a control character": (ours("a\x1b[2J.py"), r"'a\\x1b\[2J.py' is not made of"),
    "a letter beyond ASCII": (member("förmig.py"), "is not made of"),
    "NUL in a name": (_renamed(ours("aXb.py"), b"aXb", b"a\0b"), "NUL in the name"),
    "a second name field": (member("d" * 60 + "/" + "e" * 60 + ".py"), "has another mode, owner, time, name"),
    "executable": (member("a.py", mode=0o755), "has another mode"),
    "an owner": (member("a.py", uid=1000), "has another mode, owner"),
    "a user name": (member("a.py", uname="root"), "has another mode, owner"),
    "a time": (member("a.py", mtime=1), "has another mode, owner, time"),
    "a wrong checksum": (ours("a.py")[:148] + b"000000\0 " + ours("a.py")[156:], "or checksum than"),
    "a negative size": (ours("a.py")[:124] + b"-0000000001\0" + ours("a.py")[136:], "no size in eleven octal"),
    "a size in base 256": (ours("a.py")[:124] + b"\x80" + bytes(10) + b"\1" + ours("a.py")[136:], "no size in"),
    "a size beyond the cap": (header("a.py", MAX_FILE + 1), f"bytes, due at most {MAX_FILE}"),
    "a size beyond the file": (header("a.py", MAX_FILE), "ends in the middle"),
    "twice": (ours("a.py") * 2, "a.py is there twice"),
    "twice but for case": (ours("A.py") + ours("a.py"), "a.py is there twice, perhaps but for case"),
    "out of order": (ours("b.py") + ours("a.py"), "a.py is out of order after b.py"),
    "other padding": (header("a.py", 1) + b"x" + b"y" * 511, "padded with other bytes"),
    "cut in a header": (ours("a.py")[:100], "ends in the middle"),
    "empty": (b"", "ends in the middle"),
    "more after one empty block": (ours("a.py") + bytes(512) + ours("b.py"), "bytes after the end"),
    "more after the end": (ours("a.py") + END + ours("b.py"), "bytes after the end"),
    "too many": (
        b"".join(header(f"{n:08}", 0) for n in range(MAX_MEMBERS + 1)), f"more than {MAX_MEMBERS} files",
    ),
}  # fmt: skip
WITHOUT_END = {"cut in a header", "empty", "compressed", "a size beyond the file"}


@pytest.mark.parametrize("defect", HOSTILE)
def test_a_hostile_archive_is_refused_by_its_defect_and_nothing_is_written(
    sealed: Sealed, tmp_path: Path, defect: str
) -> None:
    data, message = HOSTILE[defect]
    data = data if defect in WITHOUT_END else data + END
    with pytest.raises(MalformedError, match=message) as named:
        list(read_members(io.BytesIO(data), where="archive"))
    assert str(named.value).isprintable()
    sealed.reseal(data)
    into = tmp_path / "fresh"
    for read in (sealed.check, lambda: sealed.unpack(into)):
        with pytest.raises(SealkitError) as raised:
            read()
        assert raised.value.exit_code == 1
    assert list(into.iterdir()) == []


def test_an_archive_that_is_sound_but_not_of_this_closure_is_refused(sealed: Sealed) -> None:
    raw = sealed.path.read_bytes()
    for data, message in (
        (ours("aaa.py") + raw, "aaa.py is in the archive, but not sealed"),
        (END, "arms/toad/__init__.py is sealed, but not in the archive"),
        (raw[1024:], "arms/toad/__init__.py is sealed, but not in the archive"),
    ):
        sealed.reseal(data)
        with pytest.raises(UntrustedError, match=message):
            sealed.check()


def test_an_archive_whose_sizes_promise_more_than_the_cap_is_refused_while_streaming() -> None:
    class Endless:
        """Member after member of the largest size, none of which is ever held at once."""

        def __init__(self) -> None:
            self.read_so_far = 0
            self.number = 0

        def read(self, size: int, /) -> bytes:
            self.read_so_far += size
            if size == 512:
                self.number += 1
                return header(f"{self.number:08}", MAX_FILE)
            return bytes(size)

    source = Endless()
    with pytest.raises(MalformedError, match="files or 268435456 bytes"):
        for _ in read_members(source, where="archive"):
            pass
    assert source.number == 17


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd"), os.mkdir])
def test_what_is_no_file_is_no_archive(sealed: Sealed, make: Callable[[Path], object]) -> None:
    sealed.path.unlink()
    make(sealed.path)
    with pytest.raises(MalformedError, match="due a regular file"):
        sealed.check()


def test_nothing_is_unpacked_over_what_is_there(sealed: Sealed, tmp_path: Path) -> None:
    into = tmp_path / "full"
    into.mkdir()
    (into / "mine").write_text("kept")
    with pytest.raises(OutOfOrderError, match="the folder is not empty"):
        sealed.unpack(into)
    assert snapshot(into) == {"mine": b"kept"}


def test_any_flipped_byte_of_an_archive_is_noticed(sealed: Sealed) -> None:
    raw = sealed.path.read_bytes()
    for place in range(0, len(raw), 4099):
        sealed.path.write_bytes(raw[:place] + bytes((raw[place] ^ 1,)) + raw[place + 1 :])
        with pytest.raises(SealkitError) as raised:
            sealed.check()
        assert raised.value.exit_code == 1
