"""RFC 9162 roots: published vectors, trees written out by hand, and the recursive definition."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealkit.wire.merkle import merkle_root

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "merkle" / "roots.json").read_bytes())
LEAVES = [bytes.fromhex(leaf) for leaf in VECTORS["leaves"]]


def test_the_empty_tree_is_the_digest_of_nothing() -> None:
    assert merkle_root([]) == "sha256:" + sha256(b"").hexdigest()


@pytest.mark.parametrize(("size", "root"), VECTORS["roots"].items())
def test_the_roots_of_the_published_trees(size: str, root: str) -> None:
    assert merkle_root(LEAVES[: int(size)]) == "sha256:" + root


@pytest.mark.parametrize(("index", "digest"), VECTORS["leaf_hashes"].items())
def test_a_tree_of_one_line_is_its_leaf(index: str, digest: str) -> None:
    assert merkle_root([LEAVES[int(index)]]) == "sha256:" + digest


def leaf(line: bytes) -> bytes:
    return sha256(b"\x00" + line).digest()


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def test_trees_written_out_by_hand() -> None:
    a, b, c, d, e = (leaf(line) for line in (b"a", b"b", b"c", b"d", b"e"))
    due = {
        b"a": a,
        b"ab": node(a, b),
        b"abc": node(node(a, b), c),
        b"abcd": node(node(a, b), node(c, d)),
        b"abcde": node(node(node(a, b), node(c, d)), e),
        b"abcdea": node(node(node(a, b), node(c, d)), node(e, a)),
        b"abcdeab": node(node(node(a, b), node(c, d)), node(node(e, a), b)),
    }
    for lines, root in due.items():
        assert merkle_root(bytes([line]) for line in lines) == "sha256:" + root.hex()


def by_definition(lines: list[bytes]) -> bytes:
    """MTH of RFC 9162, section 2.1.1, word for word."""
    if not lines:
        return sha256(b"").digest()
    if len(lines) == 1:
        return leaf(lines[0])
    split = 1
    while split * 2 < len(lines):
        split *= 2
    return node(by_definition(lines[:split]), by_definition(lines[split:]))


@given(st.lists(st.binary(max_size=4), max_size=70))
def test_the_streamed_root_is_the_defined_one(lines: list[bytes]) -> None:
    assert merkle_root(iter(lines)) == "sha256:" + by_definition(lines).hex()


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=20), st.data())
def test_every_line_and_its_place_count(lines: list[bytes], data: st.DataObject) -> None:
    root = merkle_root(lines)
    at = data.draw(st.integers(0, len(lines) - 1))
    assert merkle_root([*lines[:at], lines[at] + b"x", *lines[at + 1 :]]) != root
    assert merkle_root([*lines[:at], *lines[at + 1 :]]) != root
    assert merkle_root([*lines, lines[at]]) != root
    if lines[at] != lines[0]:
        lines[0], lines[at] = lines[at], lines[0]
        assert merkle_root(lines) != root


def test_an_inner_node_cannot_pose_as_a_line() -> None:
    assert merkle_root([leaf(b"a") + leaf(b"b")]) != merkle_root([b"a", b"b"])
    assert merkle_root([b"\x01" + leaf(b"a") + leaf(b"b")]) != merkle_root([b"a", b"b"])


class Line(bytes):
    """A line that counts how many of its kind are held at a time."""

    held = 0
    most = 0

    def __init__(self) -> None:
        Line.held += 1
        Line.most = max(Line.most, Line.held)

    def __del__(self) -> None:
        Line.held -= 1


def test_no_line_is_kept() -> None:
    merkle_root(Line() for _ in range(10_000))
    assert Line.most <= 2
