"""JSON Patch (RFC 6902: add, replace, remove) over JSON Pointers (RFC 6901), pure and persistent.

`diff` finds the patch, `apply` makes the new document. Neither changes what it was given: the new document
shares every part that did not change with the old one.

>>> before = {"doors": {"d0": "open"}, "log": [1, 2]}
>>> patch = diff(before, {"doors": {"d0": "shut"}, "log": [1], "bell": True})
>>> for op in patch: print(op)
Add(path='/bell', value=True)
Replace(path='/doors/d0', value='shut')
Remove(path='/log/1')
>>> apply(before, patch)
{'doors': {'d0': 'shut'}, 'log': [1], 'bell': True}
>>> before["doors"]
{'d0': 'open'}

The same two documents give the same patch: keys are taken in sorted order, arrays position by position, then
their tail. `True`, `1` and `"1"` are three values.

In a pointer `~1` is written for `/` and `~0` for `~`. An array index is `0` or digits without a leading zero;
`-` is the place after the last item, for `add` only. Refused with `MalformedError` and the pointer: a target
that is not there, an index out of range, any other spelling, and the empty pointer, because a state is
changed in its components and never replaced whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Add, Json, Op, Patch, Remove, Replace

_Array: TypeAlias = list[Json] | tuple[Json, ...]  # a world's author may well write a tuple
_stray_tilde = re.compile(r"~(?![01])").search
_index = re.compile(r"0|[1-9][0-9]{0,15}").fullmatch


def tokens(pointer: str) -> tuple[str, ...]:
    """The unescaped reference tokens of `pointer`, none for the whole document."""
    return tuple(_split(pointer)[1:])


def resolve(document: Json, pointer: str) -> Json:
    """What stands at `pointer` in `document`; `MalformedError` if nothing does."""
    node: Json = document
    for token in _split(pointer)[1:]:
        if isinstance(node, dict):
            if token not in node:
                raise _no_member(token, pointer)
            node = node[token]
        elif isinstance(node, (list, tuple)):
            node = node[_place(token, len(node), pointer)]
        else:
            raise _no_container(node, pointer)
    return node


def covers(pattern: str, pointer: str) -> bool:
    """Whether `pattern`, in which `*` stands for one whole token, covers `pointer` or anything above it.

    >>> covers("/doors/*", "/doors/d0/lock"), covers("/doors/*", "/doors"), covers("/doors/d", "/doors/d0")
    (True, False, False)
    """
    # Compared as written: RFC 6901 gives a token only one spelling.
    due, found = pattern.split("/"), pointer.split("/")
    if due[0] or found[0]:
        raise MalformedError("a pointer is empty or begins with /", where=repr(pattern if due[0] else pointer))
    if len(due) > len(found):
        return False
    for token, here in zip(due, found, strict=False):  # noqa: SIM110  (half the time of `all` over a generator)
        if token != here and token != "*":
            return False
    return True


def apply(document: Json, ops: Iterable[Op]) -> Json:
    """The document that `ops`, in order, make of `document`, which stays as it is."""
    for op in ops:
        document = _applied(document, op)
    return document


def diff(before: Json, after: Json) -> Patch:
    """The patch with `apply(before, diff(before, after)) == after`; empty if they are equal."""
    ops: list[Op] = []
    _compare(before, after, "", ops)
    return tuple(ops)


def _split(pointer: str) -> list[str]:
    """`pointer` at its slashes, unescaped; the first item is the empty text before the first slash."""
    parts = pointer.split("/")
    if parts[0]:
        raise MalformedError("a pointer is empty or begins with /", where=repr(pointer))
    if "~" in pointer:
        if _stray_tilde(pointer):
            raise MalformedError("~ without 0 or 1 after it", where=repr(pointer), remedy="write ~0 for ~ and ~1 for /")
        return [part.replace("~1", "/").replace("~0", "~") for part in parts]
    return parts


def _applied(document: Json, op: Op) -> Json:
    """`document` after one operation: the containers on the way to its target are copied, nothing else."""
    pointer = op.path
    parts = _split(pointer)
    last = parts.pop()
    if not parts:
        raise MalformedError("the empty pointer", where="''", remedy="change components, not the whole document")
    node = root = _copied(document, pointer)
    for token in parts[1:]:
        if isinstance(node, dict):
            if token not in node:
                raise _no_member(token, pointer)
            child = node[token] = _copied(node[token], pointer)
        else:
            index = _place(token, len(node), pointer)
            child = node[index] = _copied(node[index], pointer)
        node = child
    if isinstance(node, dict):
        _edit_object(node, last, op)
    else:
        _edit_array(node, last, op)
    return root


def _copied(node: Json, pointer: str) -> dict[str, Json] | list[Json]:
    if isinstance(node, dict):
        return node.copy()
    if isinstance(node, (list, tuple)):
        return list(node)
    raise _no_container(node, pointer)


def _edit_object(node: dict[str, Json], token: str, op: Op) -> None:
    if isinstance(op, Add):
        node[token] = op.value
    elif token not in node:
        raise _no_member(token, op.path)
    elif isinstance(op, Replace):
        node[token] = op.value
    else:
        del node[token]


def _edit_array(node: list[Json], token: str, op: Op) -> None:
    if isinstance(op, Add):
        node.insert(len(node) if token == "-" else _place(token, len(node) + 1, op.path), op.value)
    elif isinstance(op, Replace):
        node[_place(token, len(node), op.path)] = op.value
    else:
        del node[_place(token, len(node), op.path)]


def _place(token: str, places: int, pointer: str) -> int:
    """The array index that `token` spells, one of the first `places`."""
    if _index(token) is None:
        raise MalformedError(f"{token!r} is no array index", where=pointer)
    index = int(token)
    if index >= places:
        raise MalformedError(f"index {index} where {places} places are", where=pointer)
    return index


def _no_member(token: str, pointer: str) -> MalformedError:
    return MalformedError(f"nothing is called {token!r}", where=pointer)


def _no_container(node: Json, pointer: str) -> MalformedError:
    kind = "null" if node is None else type(node).__name__
    return MalformedError(f"it leads into a value of type {kind}", where=pointer)


def _compare(before: Json, after: Json, pointer: str, ops: list[Op]) -> None:
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        _compare_objects(before, after, pointer, ops)
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        _compare_arrays(before, after, pointer, ops)
    elif type(before) is not type(after) or before != after:
        if not pointer:
            raise MalformedError("the whole document differs", where="''", remedy="compare objects or arrays")
        ops.append(Replace(path=pointer, value=after))


def _compare_objects(before: dict[str, Json], after: dict[str, Json], pointer: str, ops: list[Op]) -> None:
    for key in sorted(before.keys() | after.keys()):
        here = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in before:
            ops.append(Add(path=here, value=after[key]))
        elif key not in after:
            ops.append(Remove(path=here))
        else:
            _compare(before[key], after[key], here, ops)


def _compare_arrays(before: _Array, after: _Array, pointer: str, ops: list[Op]) -> None:
    both = min(len(before), len(after))
    for index in range(both):
        _compare(before[index], after[index], f"{pointer}/{index}", ops)
    for index in range(both, len(after)):
        ops.append(Add(path=f"{pointer}/{index}", value=after[index]))
    for index in range(len(before) - 1, both - 1, -1):
        ops.append(Remove(path=f"{pointer}/{index}"))
