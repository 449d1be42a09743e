"""Plain JSON as the audit reads and writes it: canonical lines, digests, pointers, patches, differences."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any


class UnfitError(Exception):
    """The bytes, the patch or the pointer do not fit; the text says where."""


def spelled(value: Any) -> bytes:
    """The one spelling of a record's value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha(data: bytes) -> str:
    """The digest of bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """The digest of a value."""
    return sha(spelled(value))


def opened(line: bytes, where: str) -> Any:
    """The value of a line that is written in its one spelling."""
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UnfitError(f"{where}: {error}") from error
    if spelled(value) != line:
        raise UnfitError(f"{where}: it is not written in the one spelling")
    return value


def again(value: Any) -> Any:
    """A copy that shares nothing."""
    return json.loads(json.dumps(value))


def alike(one: Any, other: Any) -> bool:
    """Equal values of one kind, all the way down."""
    return spelled(one) == spelled(other)


def leaves(node: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Pointer and value of each scalar and each empty container."""
    if isinstance(node, dict) and node:
        for key in node:
            yield from leaves(node[key], f"{at}/{escaped(key)}")
    elif isinstance(node, list) and node:
        for place in range(len(node)):
            yield from leaves(node[place], f"{at}/{place}")
    else:
        yield at, node


def escaped(key: str) -> str:
    """A member's name as a pointer has it."""
    return key.replace("~", "~0").replace("/", "~1")


def tokens(pointer: str) -> list[str]:
    """The names on the way."""
    if not pointer.startswith("/"):
        raise UnfitError(f"{pointer!r} is no pointer into something")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]


def found(node: Any, pointer: str) -> Any:
    """What stands there."""
    for token in tokens(pointer):
        try:
            node = node[int(token)] if isinstance(node, list) else node[token]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise UnfitError(f"nothing stands at {pointer}") from error
    return node


def patched(node: Any, ops: list[Any]) -> Any:
    """The value after a patch; the one given stays as it is."""
    node = again(node)
    for op in ops:
        *way, last = tokens(op["path"])
        holder = found(node, "/" + "/".join(map(escaped, way))) if way else node
        try:
            _do(holder, last, op)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise UnfitError(f"{op['op']} at {op['path']} does not fit") from error
    return node


def _do(holder: Any, last: str, op: Any) -> None:
    if isinstance(holder, list):
        place = len(holder) if last == "-" and op["op"] == "add" else int(last)
        if not 0 <= place <= len(holder) - (op["op"] != "add"):
            raise IndexError(place)
        if op["op"] == "add":
            holder.insert(place, again(op["value"]))
        elif op["op"] == "replace":
            holder[place] = again(op["value"])
        else:
            del holder[place]
    elif op["op"] == "remove":
        del holder[last]
    else:
        if op["op"] == "replace":
            holder[last]
        holder[last] = again(op["value"])


def difference(old: Any, new: Any, at: str = "") -> list[Any]:
    """The patch from one value to another: names in order, arrays place by place, then their tail."""
    if isinstance(old, dict) and isinstance(new, dict):
        ops: list[Any] = []
        for key in sorted({*old, *new}):
            here = f"{at}/{escaped(key)}"
            if key not in old:
                ops.append({"op": "add", "path": here, "value": new[key]})
            elif key not in new:
                ops.append({"op": "remove", "path": here})
            else:
                ops += difference(old[key], new[key], here)
        return ops
    if isinstance(old, list) and isinstance(new, list):
        both = min(len(old), len(new))
        ops = [op for place in range(both) for op in difference(old[place], new[place], f"{at}/{place}")]
        ops += [{"op": "add", "path": f"{at}/{place}", "value": new[place]} for place in range(both, len(new))]
        ops += [{"op": "remove", "path": f"{at}/{place}"} for place in range(len(old) - 1, both - 1, -1)]
        return ops
    return [] if alike(old, new) else [{"op": "replace", "path": at, "value": new}]
