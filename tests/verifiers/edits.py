"""Every small edit of an episode: one leaf changed, one member dropped, one item dropped, doubled or moved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from tests.reseal import Document, read

Edit: TypeAlias = Callable[[Document], None]
Path: TypeAlias = tuple[str | int, ...]

_digest = re.compile(r"sha256:[0-9a-f]{64}").fullmatch


def edits(line: bytes) -> Iterator[tuple[str, Edit]]:
    """A name and an edit, for every place of the episode."""
    yield from _below(read(line), ())


def edited(line: bytes, edit: Edit) -> Document:
    """A fresh document with the edit done to it."""
    document = read(line)
    edit(document)
    return document


def pattern(name: str) -> str:
    """The name with every index as `*`, so that like places are told together."""
    return re.sub(r"\d+", "*", name)


def _below(node: Any, path: Path) -> Iterator[tuple[str, Edit]]:
    where = "/".join(map(str, path))
    if isinstance(node, dict):
        for key, value in node.items():
            yield f"drop {where}/{key}", _on(path, _drop(key))
            yield from _below(value, (*path, key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield f"drop {where}/{i}", _on(path, _drop(i))
            yield f"double {where}/{i}", _on(path, _double(i))
            if i and value != node[i - 1]:
                yield f"swap {where}/{i}", _on(path, _swap(i))
            yield from _below(value, (*path, i))
    else:
        yield f"change {where}", _on(path[:-1], lambda parent: _set(parent, path[-1], _other(node)))


def _on(path: Path, act: Callable[[Any], object]) -> Edit:
    def edit(document: Document) -> None:
        node: Any = document
        for key in path:
            node = node[key]
        act(node)

    return edit


def _set(parent: Any, key: str | int, value: object) -> None:
    parent[key] = value


def _drop(key: str | int) -> Callable[[Any], object]:
    return lambda parent: parent.pop(key)


def _double(i: int) -> Callable[[Any], object]:
    return lambda parent: parent.insert(i, parent[i])


def _swap(i: int) -> Callable[[Any], None]:
    def swap(parent: Any) -> None:
        parent[i - 1], parent[i] = parent[i], parent[i - 1]

    return swap


def _other(value: object) -> object:
    """Another value of the same kind, as a forger would choose it: well-formed and near."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if value is None:
        return "sha256:" + "0" * 64
    text = str(value)
    if _digest(text):
        return text[:-1] + ("0" if text[-1] != "0" else "1")
    if text in ("A1", "A2", "A3", "A4", "A5"):
        return "A5" if text != "A5" else "A1"
    return text + "x"
