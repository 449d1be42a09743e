"""Bodies by digest: `zcat | sha256sum` agrees, and whatever was done to a file is found."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.agents.models.blobs import _WRITER, MAX_BODY, Blobs
from sealkit.agents.models.errors import WithheldError
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import HarnessError, MalformedError, UntrustedError

BODY = b'{"model":"m"}'


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs", inside=tmp_path)


def test_a_name_is_what_sha256sum_says(blobs: Blobs, tmp_path: Path) -> None:
    digest = blobs.put(BODY)
    path = blobs.path(digest)
    said = subprocess.run(f"zcat {path} | sha256sum", shell=True, capture_output=True, text=True, check=True).stdout
    assert said.split()[0] == path.name.removesuffix(".gz") == hashlib.sha256(BODY).hexdigest()
    assert path.relative_to(tmp_path).parts[:2] == ("blobs", path.name[:2])


@settings(max_examples=30)
@given(body=st.binary(max_size=2000))
def test_what_was_put_is_got(body: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    blobs = Blobs(folder / "blobs", inside=folder)
    assert blobs.get(blobs.put(body)) == body


def test_the_same_body_is_the_same_file(blobs: Blobs, tmp_path: Path) -> None:
    path = blobs.path(blobs.put(BODY))
    before = path.stat()
    Blobs(tmp_path / "blobs", inside=tmp_path).put(BODY)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert path.read_bytes()[4:8] == bytes(4)  # gzip's own field for the time
    assert [path.name for path in path.parent.iterdir()] == [path.name]


def test_what_a_crash_left_is_no_obstacle(blobs: Blobs) -> None:
    path = blobs.path("sha256:" + hashlib.sha256(BODY).hexdigest())
    path.parent.mkdir(parents=True)
    (path.parent / f"{path.name}.{os.getpid()}.{_WRITER}.tmp").write_bytes(b"half")
    assert blobs.get(blobs.put(BODY)) == BODY
    assert [path.name for path in path.parent.iterdir()] == [path.name]


def test_flushing_is_for_what_was_written(blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    blobs.flush()
    assert synced == []
    blobs.put(BODY)
    blobs.flush()
    assert len(synced) == 3  # the file, its folder, the folder of folders
    blobs.flush()
    assert len(synced) == 3


def test_what_another_process_may_have_written_is_flushed_too(
    blobs: Blobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It put the body there and has not flushed it; whoever answers first must be able to rely on it."""
    blobs.put(BODY)
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    shared = Blobs(tmp_path / "blobs", inside=tmp_path, shared=True)
    shared.put(BODY)
    shared.flush()
    assert len(synced) == 3


def write(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def link(path: Path) -> None:
    path.rename(path.with_suffix(".other"))
    path.symlink_to(path.with_suffix(".other"))


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        (Path.unlink, UntrustedError, "no such body, and no entry withholds it"),
        (write(gzip.compress(b"another")), UntrustedError, "holds the body sha256:"),
        (write(BODY), MalformedError, "is no gzip"),
        (write(gzip.compress(BODY)[:-4]), MalformedError, "not one whole gzip"),
        (write(gzip.compress(BODY) + b"more"), MalformedError, "not one whole gzip"),
        (write(gzip.compress(BODY) + gzip.compress(BODY)), MalformedError, "not one whole gzip"),
        (write(gzip.compress(bytes(MAX_BODY + 1))), MalformedError, "unpacks to more than"),
        (write(zlib.compress(BODY)), MalformedError, "is no gzip"),
        (link, MalformedError, "found a link"),
    ],
)
def test_a_body_that_is_not_the_one(
    blobs: Blobs, change: Callable[[Path], object], kind: type[Exception], says: str
) -> None:
    digest = blobs.put(BODY)
    change(blobs.path(digest))
    with pytest.raises(kind, match=says):
        blobs.get(digest)


def test_a_withheld_body_is_said_to_be(tmp_path: Path) -> None:
    digest = Blobs(tmp_path / "blobs", inside=tmp_path).put(BODY)
    with pytest.raises(WithheldError, match="withheld"):
        Blobs(tmp_path / "blobs", inside=tmp_path, withheld={digest}).get(digest)


def test_a_withheld_body_that_comes_again_is_not_written_and_said_once(tmp_path: Path) -> None:
    digest, said = digest_bytes(BODY), list[str]()
    blobs = Blobs(tmp_path / "blobs", inside=tmp_path, withheld={digest}, warn=said.append)
    assert [blobs.put(BODY), blobs.put(BODY)] == [digest, digest]
    blobs.flush()
    assert not blobs.path(digest).exists() and blobs.accounts_for(digest)
    assert len(said) == 1 and f"the body {short(digest)}, which is withheld, was sent or came again" in said[0]
    assert not blobs.accounts_for(blobs.put(b"another")[:-1] + "x")


@pytest.mark.parametrize("digest", ["", "sha256:../../etc/passwd", "sha256:" + "A" * 64])
def test_only_a_digest_names_a_body(blobs: Blobs, digest: str) -> None:
    with pytest.raises(MalformedError, match="due a digest"):
        blobs.get(digest)


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "blobs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MalformedError, match="found a link"):
        Blobs(tmp_path / "study" / "blobs", inside=tmp_path / "study").put(BODY)


def test_a_full_disk_is_said(blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    blobs.put(b"first")
    monkeypatch.setattr("os.rename", full)
    with pytest.raises(HarnessError, match="No space left on device; make room"):
        blobs.put(BODY)
