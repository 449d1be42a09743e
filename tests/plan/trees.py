"""Writes a plan's tree back as YAML in another layout, and changes trees at one place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from sealkit.plan.problems import KeyPath
from sealkit.plan.yaml import Tree, read_yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = {
    "v1": ROOT / "plans" / "v1.yaml",
    "dry-run": ROOT / "plans" / "dry-run.yaml",
    "everything": HERE / "everything.yaml",
    "external": HERE / "external.yaml",
}


def tree_of(name: str) -> Tree:
    """The tree of one of `FILES`."""
    return read_yaml(FILES[name].read_bytes(), name).value


def flow(tree: Tree) -> str:
    """`tree` on one line, every text quoted."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {flow(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, tuple):
        return "[" + ", ".join(map(flow, tree)) + "]"
    return json.dumps(tree) if tree is None or isinstance(tree, bool | str) else str(tree)


def paths(tree: Tree, path: KeyPath = ()) -> Iterator[KeyPath]:
    """The path of every value in `tree`."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, tuple) else ()
    for step, value in items:
        yield from paths(value, (*path, step))


def at(tree: Tree, path: KeyPath) -> Tree:
    """The value at `path`."""
    for step in path:
        assert isinstance(tree, dict | tuple)
        tree = tree[step]  # type: ignore[call-overload, index]
    return tree


def changed(tree: Tree, path: KeyPath, value: Tree, *, key: str | None = None) -> Tree:
    """`tree` with `value` at `path`; with `key`, under that name in place of the last step."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(tree, dict):
        name = key if key is not None and not rest else step
        return {
            (name if k == step else k): (changed(v, rest, value, key=key) if k == step else v) for k, v in tree.items()
        }
    assert isinstance(tree, tuple)
    return tuple(changed(v, rest, value, key=key) if i == step else v for i, v in enumerate(tree))


def without(tree: Tree, path: KeyPath) -> Tree:
    """`tree` without what stands at `path`, which is not the root."""
    parent = at(tree, path[:-1])
    if isinstance(parent, dict):
        return changed(tree, path[:-1], {key: value for key, value in parent.items() if key != path[-1]})
    assert isinstance(parent, tuple)
    return changed(tree, path[:-1], tuple(value for index, value in enumerate(parent) if index != path[-1]))
