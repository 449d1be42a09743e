"""Everything that a plan depends on, and what of it has changed since.

A closure holds the tree of the world, of each verifier, of the judge and of the study's own arms, the files and
folders that foreign programs declare, sealkit's own tree, the study's `requirements.lock`, and the environment.
Trees, files and lock are compared before a run (`drift`). The environment is recorded: another machine may
give the same results, so a difference there is told (`environment_changes`) and stops nothing.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

import sealkit
from sealkit.seal.installed import versions
from sealkit.seal.tree import MAX_FILE, Content, Kept, Tree, TreeEntry, check_path, check_tree, file_record, tree_record
from sealkit.wire.digest import is_digest, short
from sealkit.wire.errors import MalformedError, UntrustedError, UsageError
from sealkit.wire.records import Record

LOCK = "requirements.lock"
SEALKIT = "sealkit"
# What `pyproject.toml` lists; a test compares them. A checkout may not be installed, so it is kept here.
DEPENDENCIES = (
    "click", "httpx", "jinja2", "jsonschema", "markupsafe", "msgspec", "numpy", "orjson", "rfc8785",
    "ruamel.yaml", "scipy",
)  # fmt: skip
RESERVED = frozenset({"plans", "receipts", SEALKIT})


class Environment(Record, frozen=True, tag_field="type", tag="sealkit/environment/v1"):
    """Where sealkit runs: Python, the machine, and the version of every distribution that sealkit depends on."""

    python: str
    implementation: str
    system: str
    machine: str
    distributions: dict[str, str]


class Closure(Record, frozen=True, tag_field="type", tag="sealkit/closure/v1"):
    """What a plan depends on: trees and single files by their path in the study, sorted; the lock, or null."""

    trees: tuple[Tree, ...]
    files: tuple[TreeEntry, ...]
    lock: TreeEntry | None
    environment: Environment

    def tree(self, path: str) -> Tree:
        """The tree at `path`, or the one that holds it."""
        for tree in self.trees:
            if path == tree.path or path.startswith(tree.path + "/"):
                return tree
        raise MalformedError(f"there is no tree {path}", where="closure")


class Declared(msgspec.Struct, frozen=True):
    """What a plan names: folders of the study's own Python code, and paths that foreign programs depend on."""

    trees: tuple[str, ...]
    foreign: tuple[str, ...]


class Drift(msgspec.Struct, frozen=True):
    """One file that is not as it was sealed; a digest is None where there is no such file."""

    path: str
    kind: Literal["added", "removed", "changed"]
    sealed: str | None
    now: str | None

    def __str__(self) -> str:
        if self.sealed is None or self.now is None:
            return f"{self.path} was {self.kind} ({short(self.now or self.sealed or '')})"
        return f"{self.path} was changed ({short(self.sealed)} when sealed, {short(self.now)} now)"


class DriftError(UntrustedError):
    """Files are not as they were sealed, or were written to while a run relied on them."""


def make_closure(study: Path, declared: Declared, *, kept: Kept | None = None) -> Closure:
    """The closure as the study's folder and this sealkit have it now; the files of its trees are `kept` too."""
    for path in (*declared.trees, *declared.foreign):
        check_path(path, where="plan")
        if path.partition("/")[0] in RESERVED:
            raise UsageError(f"{path} cannot be a part of the closure", where="plan", remedy="move it elsewhere")
    trees: dict[str, Content] = dict.fromkeys(declared.trees, "study")
    for path in declared.foreign:
        if (study / path).is_dir():
            trees.setdefault(path, "foreign")
    outer = {path: content for path, content in trees.items() if not _covers(trees, path)}
    files = {path for path in declared.foreign if path not in trees and path != LOCK and not _covers(trees, path)}
    recorded = [tree_record(study, path, content=content, kept=kept) for path, content in outer.items()]
    recorded.append(sealkit_tree(kept))
    closure = Closure(
        trees=tuple(sorted(recorded, key=lambda tree: tree.path)),
        files=tuple(_file(study, path) for path in sorted(files)),
        lock=_lock(study),
        environment=environment(),
    )
    _check_whole(closure, where=str(study))  # each tree was checked when it was made
    return closure


def sealkit_tree(kept: Kept | None = None) -> Tree:
    """sealkit's own tree: its code and prompts without `reference/`, the same from a checkout and from a wheel."""
    return tree_record(sealkit_folder().parent, SEALKIT, content="own", kept=kept)


def sealkit_folder() -> Path:
    """The folder of the sealkit that is running."""
    folder = Path(sealkit.__file__).parent
    if folder.name != SEALKIT:
        raise UsageError("the package's folder must be called sealkit", where=str(folder))
    return folder


def closure_files(closure: Closure) -> Iterator[tuple[str, TreeEntry]]:
    """Every file of the closure by its path in the study."""
    for tree in closure.trees:
        for entry in tree.entries:
            yield f"{tree.path}/{entry.path}", entry
    for entry in closure.files:
        yield entry.path, entry
    if closure.lock is not None:
        yield closure.lock.path, closure.lock


def check_closure(closure: Closure, *, where: str) -> None:
    """Raise unless trees, files and lock are well-formed and no two of them claim the same path."""
    for tree in closure.trees:
        check_tree(tree, where=f"{where}: tree {tree.path!a}")
    _check_whole(closure, where=where)


def _check_whole(closure: Closure, *, where: str) -> None:
    for single in (*closure.files, *((closure.lock,) if closure.lock else ())):
        check_path(single.path, where=where)
        if not is_digest(single.digest) or single.size > MAX_FILE:
            raise MalformedError(f"{single.path} has no digest, or more than {MAX_FILE} bytes", where=where)
    if closure.lock is not None and closure.lock.path != LOCK:
        raise MalformedError(f"found {closure.lock.path}, due {LOCK}", where=where)
    if not any(tree.path == SEALKIT for tree in closure.trees):
        raise MalformedError("sealkit's own tree is not in the closure", where=where)
    paths: set[str] = set()
    for path, _ in closure_files(closure):
        if path.partition("/")[0] in ("plans", "receipts"):
            raise MalformedError(f"{path} cannot be a part of the closure", where=where)
        if path.casefold() in paths:
            raise MalformedError(f"{path} is there twice, perhaps but for case", where=where, remedy="name it once")
        paths.add(path.casefold())


def drift(sealed: Closure, now: Closure) -> tuple[Drift, ...]:
    """Every file that was added, removed or changed between the two, by path; the environment is not compared."""
    then = {path: entry.digest for path, entry in closure_files(sealed)}
    return _drift(then, {path: entry.digest for path, entry in closure_files(now)})


def sealkit_drift(sealed: Closure) -> tuple[Drift, ...]:
    """The same between the sealed sealkit and the one that is running."""
    then, today = (
        {f"{SEALKIT}/{entry.path}": entry.digest for entry in tree.entries}
        for tree in (sealed.tree(SEALKIT), sealkit_tree())
    )
    return _drift(then, today)


def _drift(then: Mapping[str, str], today: Mapping[str, str]) -> tuple[Drift, ...]:
    found = []
    for path in sorted(then.keys() | today.keys()):
        old, new = then.get(path), today.get(path)
        if old != new:
            kind: Literal["added", "removed", "changed"] = (
                "added" if old is None else "removed" if new is None else "changed"
            )
            found.append(Drift(path, kind, old, new))
    return tuple(found)


def environment() -> Environment:
    """The environment of this process."""
    return Environment(
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        system=platform.system(),
        machine=platform.machine(),
        distributions=dict(versions(DEPENDENCIES)),
    )


def environment_changes(sealed: Environment, now: Environment) -> tuple[str, ...]:
    """One phrase for each difference: `numpy 2.4.6 when sealed, 2.5.0 now`."""
    then, today = _facts(sealed), _facts(now)
    return tuple(
        f"{name} {then.get(name, 'absent')} when sealed, {today.get(name, 'absent')} now"
        for name in sorted(then.keys() | today.keys())
        if then.get(name) != today.get(name)
    )


def _facts(environment: Environment) -> Mapping[str, str]:
    return {
        "python": environment.python,
        "implementation": environment.implementation,
        "system": environment.system,
        "machine": environment.machine,
        **environment.distributions,
    }


def _covers(trees: Iterable[str], path: str) -> bool:
    return any(path.startswith(f"{tree}/") for tree in trees)


def _file(study: Path, path: str) -> TreeEntry:
    try:
        return file_record(study, path)
    except FileNotFoundError as error:
        raise UsageError("there is no such file or folder", where=str(study / path)) from error


def _lock(study: Path) -> TreeEntry | None:
    try:
        return file_record(study, LOCK)
    except FileNotFoundError:
        return None
