"""Trees: what a folder becomes, and what can be no part of one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sealkit.files import create_file, read_file_safely, read_if_there, replace_file
from sealkit.seal.tree import MAX_FILE, Tree, TreeEntry, check_tree, file_record, tree_of, tree_record
from sealkit.wire.canon import encode_record
from sealkit.wire.errors import MalformedError, SealkitError, UntrustedError, UsageError
from sealkit.wire.merkle import merkle_root

DIGEST = "sha256:" + "0" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study with the tree worlds/pond of three files."""
    tree = tmp_path / "worlds" / "pond"
    (tree / "data").mkdir(parents=True)
    (tree / "world.py").write_bytes(b"abc")
    (tree / "SPEC.md").write_bytes(b"\r\nline endings stay\n")
    (tree / "data" / "frogs.csv").write_bytes(b"")
    return tree


def test_a_tree_lists_its_files_sorted_with_the_digests_of_sha256sum(tmp_path: Path, folder: Path) -> None:
    tree = tree_record(tmp_path, "worlds/pond")
    assert [entry.path for entry in tree.entries] == ["SPEC.md", "data/frogs.csv", "world.py"]
    printed = subprocess.run(["sha256sum", *(folder / e.path for e in tree.entries)], capture_output=True, check=True)
    assert [line.split()[0].decode() for line in printed.stdout.splitlines()] == [e.digest[7:] for e in tree.entries]
    assert tree.entries[2] == TreeEntry(path="world.py", size=3, digest="sha256:" + hashlib.sha256(b"abc").hexdigest())
    assert tree.root == merkle_root(encode_record(entry) for entry in tree.entries)


def test_a_tree_does_not_depend_on_where_it_lies_or_when_or_how_it_was_written(tmp_path: Path, folder: Path) -> None:
    before = tree_record(tmp_path, "worlds/pond")
    other = tmp_path / "elsewhere"
    other.mkdir()
    (tmp_path / "worlds").rename(other / "worlds")
    for path in (other / "worlds").rglob("*"):
        os.utime(path, (1, 1))
        path.chmod(0o755)
    assert tree_record(other, "worlds/pond") == before


@pytest.mark.parametrize("name", ["world.py~", ".world.py.swp", "#world.py#", ".DS_Store", "__pycache__/world.pyc"])
def test_litter_changes_nothing(tmp_path: Path, folder: Path, name: str) -> None:
    before = tree_record(tmp_path, "worlds/pond")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"litter")
    assert tree_record(tmp_path, "worlds/pond") == before


def _link(path: Path) -> None:
    path.symlink_to(path.with_name("world.py"))


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(path.parent):  # a socket's path is short
        one.bind(path.name)


def _bytes(data: bytes = b"x") -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def _below(name: str) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        path.mkdir()
        (path / name).write_bytes(b"x")

    return make


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "linked.py": (_link, "linked.py: found a link, due a regular file"),
    "pipe.py": (os.mkfifo, "pipe.py: found a pipe, due a regular file"),
    "socket.py": (_socket, "socket.py: found a socket, due a regular file"),
    "fast.so": (_bytes(), "fast.so: a file of kind '.so' has no place"),
    "paths.pth": (_bytes(), "paths.pth: a file of kind '.pth' has no place"),
    "evil.pyc": (_bytes(), "evil.pyc: a file of kind '.pyc' has no place"),
    "model.pickle": (_bytes(), "model.pickle: a file of kind '.pickle' has no place"),
    ".env": (_bytes(), ".env: a file of kind '.env' has no place"),
    ".git": (_below("config.md"), ".git: a hidden folder has no place"),
    "WORLD.py": (_bytes(), "WORLD.py and world.py differ in case alone"),
    "Data": (_below("toads.csv"), "is there twice but for case"),
    "two words.py": (_bytes(), "'worlds/pond/two words.py' is not made of"),
    "förmig.py": (_bytes(), r"'worlds/pond/f\xf6rmig.py' is not made of"),
    "new\nline.py": (_bytes(), r"'worlds/pond/new\nline.py' is not made of"),
    "\u202eyp.py": (_bytes(), r"'worlds/pond/\u202eyp.py' is not made of"),
    "x" * 90 + ".py": (_bytes(), "has 105 characters, due at most 100"),
    "large.txt": (_bytes(bytes(MAX_FILE + 1)), f"large.txt: more than {MAX_FILE} bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_be_no_part_of_a_tree_is_refused_by_name(tmp_path: Path, folder: Path, name: str) -> None:
    make, message = REFUSED[name]
    make(folder / name)
    with pytest.raises(MalformedError) as raised:
        tree_record(tmp_path, "worlds/pond")
    assert message in str(raised.value)
    assert str(raised.value).isascii() and str(raised.value).isprintable()


def test_a_name_that_is_no_unicode_is_refused(tmp_path: Path, folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.py")).write_bytes(b"")
    with pytest.raises(MalformedError, match="is not made of"):
        tree_record(tmp_path, "worlds/pond")


def test_a_link_on_the_way_is_refused_and_one_above_the_study_is_not(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "alias").symlink_to(tmp_path)
    assert tree_record(tmp_path / "alias", "worlds/pond") == tree_record(tmp_path, "worlds/pond")
    (tmp_path / "worlds" / "alias").symlink_to(folder)
    with pytest.raises(MalformedError, match="alias: found a link, due a folder"):
        tree_record(tmp_path, "worlds/alias")


def test_a_tree_that_is_missing_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such folder"):
        tree_record(tmp_path, "worlds/pond")
    (tmp_path / "worlds" / "pond").mkdir(parents=True)
    with pytest.raises(UsageError, match="a tree without files"):
        tree_record(tmp_path, "worlds/pond")


def test_a_tree_nested_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "worlds" / Path(*"abcdefghijklmnopqrst")).mkdir(parents=True)
    with pytest.raises(MalformedError, match="nested deeper than 16"):
        tree_record(tmp_path, "worlds")


def test_a_foreign_tree_may_hold_other_languages_but_no_libraries(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "main.rs").write_bytes(b"fn main() {}")
    assert tree_record(tmp_path, "tool", content="foreign").entries[0].path == "main.rs"
    with pytest.raises(MalformedError, match=r"'\.rs' has no place"):
        tree_record(tmp_path, "tool")
    (tmp_path / "tool" / "lib.so").write_bytes(b"")
    with pytest.raises(MalformedError, match=r"'\.so' has no place"):
        tree_record(tmp_path, "tool", content="foreign")


# --- records from elsewhere ----------------------------------------------------------------------


def entry(path: str) -> TreeEntry:
    return TreeEntry(path=path, size=1, digest=DIGEST)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/etc/passwd", "is not made of"),
        ("../x.py", "is not made of"),
        ("a/../x.py", "is not made of"),
        ("a//x.py", "is not made of"),
        ("./x.py", "is not made of"),
        ("a\0.py", "is not made of"),
        ("a\\b.py", "is not made of"),
        ("C:x.py", "is not made of"),
        ("", "is not made of"),
        ("a/" * 60 + "x", "due at most 100"),
    ],
)
def test_a_record_with_a_path_that_could_lead_elsewhere_is_refused(path: str, message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        check_tree(tree_of("worlds/pond", (entry(path),)), where="seal")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (tree_of("w", ()), "0 files"),
        (tree_of("w", (entry("a.py"), entry("A.py"))), "differ in case alone"),
        (tree_of("w", (entry("a"), entry("A/b"))), "is there twice but for case"),
        (tree_of("w", (entry("a/b"), entry("A/c"))), "is there twice but for case"),
        (tree_of("w", (entry("a.py"), entry("a.py"))), "a.py is out of order after a.py"),
        (tree_of("../w", (entry("a.py"),)), "is not made of"),
        (tree_of("w", (TreeEntry(path="a", size=1, digest="sha256:00"),)), "a has no digest"),
        (tree_of("w", (TreeEntry(path="a", size=MAX_FILE + 1, digest=DIGEST),)), "bytes, due at most"),
        (msgspec.structs.replace(tree_of("w", (entry("a"), entry("b"))), root=DIGEST), "its root is not that"),
        (Tree(path="w", root=tree_of("w", (entry("a"), entry("b"))).root, entries=(entry("b"), entry("a"))), "order"),
    ],
)
def test_a_record_that_no_folder_could_give_is_refused(tree: Tree, message: str) -> None:
    with pytest.raises(SealkitError, match=message) as raised:
        check_tree(tree, where="seal")
    assert raised.value.exit_code == 1


# --- single files --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../x", "a/../../x", "a\0b", "\ud800", "."])
def test_a_path_that_leads_out_of_the_study_is_not_opened(tmp_path: Path, name: str) -> None:
    with pytest.raises(MalformedError, match="is not a path inside"):
        read_file_safely(tmp_path / name, inside=tmp_path, limit=10)


def test_a_name_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedError, match="too long"):
        read_file_safely(tmp_path / ("x" * 300), inside=tmp_path, limit=10)


def test_a_file_is_read_to_its_limit_and_no_further(tmp_path: Path) -> None:
    path = tmp_path / "ten"
    path.write_bytes(b"0123456789")
    assert read_file_safely(path, inside=tmp_path, limit=10) == b"0123456789"
    with pytest.raises(MalformedError, match="more than 9 bytes"):
        read_file_safely(path, inside=tmp_path, limit=9)


def test_a_file_that_is_not_there_is_told_from_one_that_is_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert read_if_there(tmp_path / "empty", inside=tmp_path, limit=9) == b""
    for name in ("absent", "absent/below"):
        assert read_if_there(tmp_path / name, inside=tmp_path, limit=9) is None
        with pytest.raises(UntrustedError, match="there is no such file"):
            read_file_safely(tmp_path / name, inside=tmp_path, limit=9)
    with pytest.raises(FileNotFoundError):
        file_record(tmp_path, "absent")


def test_a_file_where_a_folder_is_due_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MalformedError, match="file: found a file, due a folder"):
        read_file_safely(tmp_path / "file" / "x", inside=tmp_path, limit=9)
    with pytest.raises(MalformedError, match="found a file, due a folder"):
        read_file_safely(tmp_path / "file" / "x", inside=tmp_path / "file", limit=9)


def test_replacing_is_whole_and_creating_never_replaces(tmp_path: Path) -> None:
    path = tmp_path / "HEAD"
    (tmp_path / ".HEAD.tmp").symlink_to(tmp_path / "target")  # what lies in the way is not followed
    replace_file(path, b"one")
    replace_file(path, b"two")
    with pytest.raises(FileExistsError):
        create_file(path, b"three")
    assert path.read_bytes() == b"two"
    assert sorted(os.listdir(tmp_path)) == ["HEAD"]
