"""The sealed list of scenarios: `plans/NAME.manifest.jsonl`, one canonical `Scenario` a line.

There is one line for each (family, seed) of any stage, smoke and pilot too: families in the plan's order, seeds
ascending within each. The seal commits to the RFC 9162 root over the lines, and to their number.

`open_manifest` streams the file once and keeps 48 bytes a line: seed, place, digest. A line is read when it is
asked for, and must then still have the digest that it had under the root. So a hundred thousand scenarios cost
some five megabytes, whatever they hold.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from sealkit.files import open_safely, sync_folder
from sealkit.plan.schema import Spec
from sealkit.plan.slots import Stage, grid
from sealkit.wire.canon import MAX_LINE, decode_record, encode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.digest import PREFIX, short
from sealkit.wire.errors import MalformedError, UntrustedError
from sealkit.wire.merkle import merkle_root
from sealkit.wire.records import Count, Record
from sealkit.wire.text import counted

_DIGEST_BYTES = 32
_STAGES: tuple[Stage, ...] = ("confirmatory", "smoke", "pilot")


class ManifestSeal(Record, frozen=True):
    """What a seal says of its manifest: the root over its lines, and how many there are."""

    root: str
    count: Count


class _Key(msgspec.Struct):
    """As much of a scenario as the index needs; whoever uses the line decodes all of it."""

    family: str
    seed: Count


class _Family(msgspec.Struct):
    """Where the lines of one family are, by seed in ascending order."""

    seeds: array[int] = msgspec.field(default_factory=lambda: array("Q"))
    offsets: array[int] = msgspec.field(default_factory=lambda: array("Q"))
    digests: bytearray = msgspec.field(default_factory=bytearray)


class Manifest:
    """An opened manifest that agreed with its root; `open_manifest` makes one. Close it, or use `with`."""

    def __init__(self, path: Path, descriptor: int, root: str, families: dict[str, _Family]) -> None:
        self.path = path
        self.root = root
        self._descriptor = descriptor
        self._families = families

    def __len__(self) -> int:
        return sum(len(family.seeds) for family in self._families.values())

    def __enter__(self) -> Manifest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back; no line can be read after this."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def keys(self) -> Iterator[tuple[str, int]]:
        """(family, seed) of every line, in order."""
        return ((name, seed) for name, family in self._families.items() for seed in family.seeds)

    def line(self, family: str, seed: int) -> bytes:
        """The scenario line of (family, seed), without its newline, as it was sealed."""
        offset, digest = self._place(family, seed)
        # Lines have no length in the index: most fit in one read, and the newline says where they end.
        line, size = b"", 1 << 14
        while b"\n" not in line and len(line) <= MAX_LINE:
            chunk = os.pread(self._descriptor, size, offset + len(line))
            if not chunk:
                break
            line, size = line + chunk, size * 4
        line = line.partition(b"\n")[0]
        if sha256(line).digest() != digest:
            raise UntrustedError(f"the line of {family} {seed} has changed since it was opened", where=str(self.path))
        return line

    def scenario(self, family: str, seed: int) -> Scenario:
        """The scenario of (family, seed)."""
        return decode_record(self.line(family, seed), Scenario, where=f"{self.path}: {family} {seed}")

    def digest(self, family: str, seed: int) -> str:
        """The digest of the scenario line of (family, seed)."""
        return PREFIX + self._place(family, seed)[1].hex()

    def _place(self, name: str, seed: int) -> tuple[int, bytes]:
        family = self._families.get(name)
        index = bisect_left(family.seeds, seed) if family and 0 <= seed < 2**53 else 0
        if family is None or index == len(family.seeds) or family.seeds[index] != seed:
            raise UntrustedError(f"holds no scenario of family {name!a}, seed {seed}", where=str(self.path))
        start = index * _DIGEST_BYTES
        return family.offsets[index], bytes(family.digests[start : start + _DIGEST_BYTES])


def planned_keys(spec: Spec) -> Iterator[tuple[str, int]]:
    """(family, seed) of every scenario that the plan runs at any stage, in the order of the manifest."""
    seeds: dict[str, set[int]] = {}
    for stage in _STAGES:
        levels = grid(spec, stage)
        for family in levels.get("family", ()):
            seeds.setdefault(str(family), set()).update(int(seed) for seed in levels["seed"])
    return ((family, seed) for family, known in seeds.items() for seed in sorted(known))


def scenarios_in_words(spec: Spec, count: int) -> str:
    """How many scenarios a manifest of this plan holds, and how many of them other stages alone have."""
    levels = grid(spec, "confirmatory")
    more = count - len(levels.get("family", ())) * len(levels.get("seed", ()))
    stages = " and ".join(stage for stage in _STAGES if stage != "confirmatory" and grid(spec, stage))
    return counted(count, "scenario") + (f" ({more} of them for the {stages} run alone)" if more > 0 else "")


def write_manifest(path: Path, scenarios: Iterable[Scenario]) -> ManifestSeal:
    """The manifest is at `path`, on disk; scenarios come in the order of `planned_keys`."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    count = 0

    def written(file: BinaryIO) -> Iterator[bytes]:
        nonlocal count
        for scenario in scenarios:
            line = encode_record(scenario)
            file.write(line + b"\n")
            count += 1
            yield line

    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(temporary, flags, 0o644), "wb") as file:
        root = merkle_root(written(file))
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(path.parent)
    return ManifestSeal(root=root, count=count)


def open_manifest(path: Path, sealed: ManifestSeal, *, inside: Path) -> Manifest:
    """The manifest at `path`, after checking every line of it against the sealed root."""
    try:
        descriptor = open_safely(path, inside=inside)
    except FileNotFoundError as error:
        raise UntrustedError("there is no manifest", where=str(path), remedy="fetch the whole study") from error
    families: dict[str, _Family] = {}
    try:
        with open(descriptor, "rb", closefd=False) as file:
            root = merkle_root(_indexed(file, families, path, sealed.count))
        manifest = Manifest(path, descriptor, root, families)
        if root != sealed.root or len(manifest) != sealed.count:
            found, due = (
                f"{len(manifest)} lines, root {short(root)}",
                f"{sealed.count} lines, root {short(sealed.root)}",
            )
            raise UntrustedError(f"has changed since its seal: found {found}, sealed {due}", where=str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return manifest


_decode_key = msgspec.json.Decoder(_Key).decode


def _indexed(file: BinaryIO, families: dict[str, _Family], path: Path, most: int) -> Iterator[bytes]:
    """The lines of the file without their newlines; on the way `families` learns where they are."""
    offset, last, number = 0, "", 0
    while raw := file.readline(MAX_LINE + 2):
        number += 1
        where = f"{path} line {number}"
        if not raw.endswith(b"\n"):
            raise MalformedError(f"no newline at its end within {MAX_LINE} bytes", where=where)
        if number > most:
            raise UntrustedError(f"has changed since its seal: more than the {most} lines sealed", where=str(path))
        line = raw[:-1]
        try:
            key = _decode_key(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise MalformedError(str(error), where=where) from error
        if key.family != last and key.family in families:
            raise MalformedError(f"family {key.family!a} comes again", where=where)
        family = families.setdefault(key.family, _Family())
        if family.seeds and key.seed <= family.seeds[-1]:
            raise MalformedError(f"seed {key.seed} is out of order or there twice", where=where)
        family.seeds.append(key.seed)
        family.offsets.append(offset)
        family.digests += sha256(line).digest()
        last, offset = key.family, offset + len(raw)
        yield line
