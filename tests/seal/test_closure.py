"""Closures: what a plan depends on, and what of it drifted."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import msgspec
import pytest

import sealkit
from sealkit.seal import closure as module
from sealkit.seal.closure import (
    DEPENDENCIES,
    Closure,
    Declared,
    check_closure,
    closure_files,
    drift,
    environment,
    environment_changes,
    make_closure,
    sealkit_tree,
)
from sealkit.seal.tree import TreeEntry, tree_of
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.errors import MalformedError, SealkitError, UsageError
from tests.seal.studies import edit, make_study

DECLARED = Declared(trees=("worlds/pond", "verifiers/strict", "arms/toad"), foreign=())


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return make_study(tmp_path)


def test_a_closure_is_one_record(study: Path) -> None:
    closure = make_closure(study, DECLARED)
    assert [tree.path for tree in closure.trees] == ["arms/toad", "sealkit", "verifiers/strict", "worlds/pond"]
    assert closure.lock is not None and closure.lock.path == "requirements.lock"
    assert decode_record(encode_record(closure), Closure) == closure
    assert closure.tree("worlds/pond/judge").path == "worlds/pond"
    with pytest.raises(MalformedError, match="no tree worlds/pon"):
        closure.tree("worlds/pon")


def test_drift_names_every_file_that_was_added_removed_or_changed(study: Path) -> None:
    sealed = make_closure(study, DECLARED)
    assert drift(sealed, make_closure(study, DECLARED)) == ()
    edit(study / "worlds/pond/world.py", "Hop.", "Hop!")
    (study / "worlds/pond/judge.py").rename(study / "worlds/pond/referee.py")
    edit(study / "requirements.lock", "0.19.0", "0.19.1")
    found = drift(sealed, make_closure(study, DECLARED))
    assert [(one.path, one.kind) for one in found] == [
        ("requirements.lock", "changed"),
        ("worlds/pond/judge.py", "removed"),
        ("worlds/pond/referee.py", "added"),
        ("worlds/pond/world.py", "changed"),
    ]
    then, now = (dict(closure_files(one))["worlds/pond/world.py"] for one in (sealed, make_closure(study, DECLARED)))
    assert str(found[3]) == (
        f"worlds/pond/world.py was changed ({then.digest[7:19]} when sealed, {now.digest[7:19]} now)"
    )
    assert str(found[1]).startswith("worlds/pond/judge.py was removed (")


def test_a_lock_that_is_absent_is_recorded_as_such_and_one_that_came_drifts(study: Path) -> None:
    lock = study / "requirements.lock"
    kept = lock.read_bytes()
    lock.unlink()
    sealed = make_closure(study, DECLARED)
    assert sealed.lock is None
    lock.write_bytes(kept)
    assert [(one.path, one.kind) for one in drift(sealed, make_closure(study, DECLARED))] == [
        ("requirements.lock", "added")
    ]


def test_another_environment_is_told_and_no_drift(study: Path) -> None:
    sealed = make_closure(study, DECLARED)
    elsewhere = msgspec.structs.replace(
        sealed.environment,
        machine="abacus",
        distributions={**sealed.environment.distributions, "numpy": "9.9", "ruff": "1"},
    )
    assert drift(sealed, msgspec.structs.replace(sealed, environment=elsewhere)) == ()
    here = sealed.environment
    assert environment_changes(here, elsewhere) == (
        f"machine {here.machine} when sealed, abacus now",
        f"numpy {here.distributions['numpy']} when sealed, 9.9 now",
        "ruff absent when sealed, 1 now",
    )


def test_the_environment_holds_what_sealkit_depends_on() -> None:
    distributions = environment().distributions
    assert {"msgspec", "numpy", "ruamel-yaml", "scipy"} <= distributions.keys()
    assert "pytest" not in distributions
    assert all(version[0].isdigit() for version in distributions.values())


def test_the_listed_dependencies_are_those_of_the_package() -> None:
    project = tomllib.loads((Path(sealkit.__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    assert tuple(text.split(">")[0] for text in project["dependencies"]) == DEPENDENCIES


def test_sealkits_own_tree_is_the_same_from_a_checkout_and_from_a_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = sealkit_tree()
    prompts = {entry.path for entry in checkout.entries if not entry.path.endswith(".py")}
    names = ("core", "json", "argument", "arguments", "notes", "belief_store", "tools")
    assert prompts == {f"agents/arms/prompts/{name}.md" for name in names}
    assert "seal/closure.py" in {entry.path for entry in checkout.entries}
    wheel = tmp_path / "site-packages" / "sealkit"
    for entry in checkout.entries:
        target = wheel / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(sealkit.__file__).parent / entry.path, target)
    (wheel / "py.typed").touch()
    for name in ("reference/worlds/house/world.py", "seal/__pycache__/seal.cpython-311.pyc"):
        (wheel / name).parent.mkdir(parents=True)
        (wheel / name).write_text("")
    monkeypatch.setattr(module.sealkit, "__file__", str(wheel / "__init__.py"))
    assert sealkit_tree() == checkout


def test_what_foreign_programs_declare_is_part_of_it_file_or_folder(study: Path) -> None:
    (study / "tool" / "src").mkdir(parents=True)
    (study / "tool" / "src" / "main.rs").write_bytes(b"fn main() {}")
    (study / "tool.sh").write_bytes(b"exit\n")
    (study / "worlds" / "pond" / "extra.py").write_bytes(b"")
    foreign = ("tool", "tool.sh", "tool/src/main.rs", "requirements.lock", "worlds/pond/extra.py")
    closure = make_closure(study, Declared(trees=DECLARED.trees, foreign=foreign))
    assert [entry.path for entry in closure.files] == ["tool.sh"]  # the others are in a tree, or the lock
    assert closure.tree("tool/src/main.rs").path == "tool"
    with pytest.raises(UsageError, match="there is no such file or folder"):
        make_closure(study, Declared(trees=(), foreign=("nothing",)))


def test_a_judge_inside_another_tree_adds_none(study: Path) -> None:
    (study / "worlds" / "pond" / "judges").mkdir()
    (study / "worlds" / "pond" / "judges" / "strict.py").write_bytes(b"")
    closure = make_closure(study, Declared(trees=("worlds/pond/judges", "worlds/pond"), foreign=()))
    assert [tree.path for tree in closure.trees] == ["sealkit", "worlds/pond"]


@pytest.mark.parametrize("path", ["plans", "receipts/pond-v1", "sealkit", "sealkit/seal"])
def test_a_study_cannot_declare_what_is_not_its_code(study: Path, path: str) -> None:
    with pytest.raises(UsageError, match="cannot be a part of the closure"):
        make_closure(study, Declared(trees=(path,), foreign=()))


def _with(closure: Closure, **changes: object) -> Closure:
    return msgspec.structs.replace(closure, **changes)


HOSTILE = {
    "a tree that leads out": lambda c: _with(c, trees=(*c.trees, tree_of("../x", c.trees[0].entries))),
    "a tree among the receipts": lambda c: _with(c, trees=(*c.trees, tree_of("receipts", c.trees[0].entries))),
    "a tree twice": lambda c: _with(c, trees=(*c.trees, c.trees[0])),
    "a tree twice but for case": lambda c: _with(c, trees=(*c.trees, tree_of("Arms/toad", c.trees[0].entries))),
    "no sealkit": lambda c: _with(c, trees=tuple(tree for tree in c.trees if tree.path != "sealkit")),
    "another lock": lambda c: _with(c, lock=msgspec.structs.replace(c.lock, path="plans.lock")),
    "a file that leads out": lambda c: _with(c, files=(TreeEntry(path="../x", size=1, digest=c.lock.digest),)),
    "a file without digest": lambda c: _with(c, files=(TreeEntry(path="x", size=1, digest=""),)),
    "a file too large": lambda c: _with(c, files=(TreeEntry(path="x", size=2**40, digest=c.lock.digest),)),
    "a file of a tree": lambda c: _with(
        c, files=(TreeEntry(path="arms/toad/arm.py", size=1, digest=c.lock.digest),)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_closure_that_no_study_could_have_is_refused(study: Path, case: str) -> None:
    closure = make_closure(study, DECLARED)
    check_closure(closure, where="seal")
    with pytest.raises(SealkitError) as raised:
        check_closure(HOSTILE[case](closure), where="seal")
    assert raised.value.exit_code == 1
