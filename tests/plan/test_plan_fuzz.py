"""Whatever the bytes: a plan, or a refusal with a place. Never another exception."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sealkit.plan.load import open_plan_bytes
from sealkit.plan.scalars import Range
from sealkit.plan.yaml import Tree
from sealkit.wire.errors import MalformedError, SealkitError, UsageError
from tests.plan.trees import FILES, at, changed, flow, paths, tree_of, without

TREES = {name: tree_of(name) for name in ("external", "everything")}
PATHS = {name: [path for path in paths(tree) if path] for name, tree in TREES.items()}
LINES = FILES["external"].read_text().splitlines()


def check(data: bytes) -> bool:
    """Whether `data` is a plan; fails unless a refusal says where, what and what to do."""
    try:
        open_plan_bytes(data, "p.yaml")
    except SealkitError as error:
        assert isinstance(error, MalformedError | UsageError)
        assert re.match(r"p\.yaml:[1-9][0-9]*:[1-9][0-9]* \$", error.where)
        assert error.what and error.remedy
        for line in str(error).split("\n"):
            assert re.match(r"p\.yaml:\d+:\d+ \$[^\n]*: [^\n]+; [^\n]+|… and \d+ more", line)
        return False
    return True


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b'a: "\\UFFFFFFFF"')
@example(b"? ? ? x")
@example(b"- - - [")
@example(b"%TAG ! x\n---\n")
@example(b"a: |99\n x")
@example(b"*a : b")
@example(b"{*a : b, *a : c}")
@example(b"? [a]\n: b")
@example(b"&a : b")
def test_any_bytes(data: bytes) -> None:
    assert not check(data)


@settings(max_examples=120, deadline=None)
@given(
    st.integers(0, len(LINES) - 1),
    st.text(alphabet="{}[]:,-?&*!|>'\"%@`# \tabn019._~\u0301\u202e\x00\r\n", max_size=6),
    st.integers(0, 80),
    st.integers(0, 6),
)
def test_text_put_into_a_line(index: int, text: str, column: int, cut: int) -> None:
    line = LINES[index]
    lines = [*LINES[:index], line[:column] + text + line[column + cut :], *LINES[index + 1 :]]
    check("\n".join(lines).encode("utf-8", "surrogatepass"))


SCALARS: list[Tree] = [
    None, True, 0, 1, -1, 2**53 - 1, Decimal("0.5"), Decimal("-1.5"), Range(0, 3), "", " ", "all", "x", "A", "success",
    "dc", "arm", "family", "seed", "solved", "own", "reader", "a.b", "a - b", "x" * 300, "\u00e9", "not_shown", "kind",
    (), {}, ("a", "a"), {"kind": "none"}, {"a": {"a": "a"}}, ("arm",), (Decimal(1),), {"family": "all"},
]  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(TREES)), st.data())
def test_a_value_in_place_of_another(name: str, data: st.DataObject) -> None:
    tree, path = TREES[name], data.draw(st.sampled_from(PATHS[name]))
    other = data.draw(st.sampled_from(SCALARS) | st.sampled_from(PATHS[name]).map(lambda path: at(tree, path)))
    check(flow(changed(tree, path, other)).encode())


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(sorted(TREES)), st.data())
def test_a_key_in_place_of_another(name: str, data: st.DataObject) -> None:
    tree = TREES[name]
    path = data.draw(st.sampled_from([path for path in PATHS[name] if isinstance(path[-1], str)]))
    key = data.draw(st.sampled_from([str(value) for value in SCALARS if isinstance(value, str)]))
    check(flow(changed(tree, path, at(tree, path), key=key)).encode())


@pytest.mark.parametrize("path", PATHS["external"], ids=str)
def test_every_part_of_a_plan_counts(path: tuple[str | int, ...]) -> None:
    """What can be left out is listed here; leaving out anything else is refused."""
    optional = {
        ("confounds", 0), ("world", "run", 0), ("world", "run", 1), ("world", "trees", 1),
        ("world", "trees", 2), ("world", "environment"), ("rights", "data"),
        ("gates", 0), ("gates", 1), ("sample", "attempts", "retry_on", 0), ("metrics", "solved", "primary"),
        *(("factors", "arm", arm, "options", "prompt") for arm in ("short", "long")),
        *(("factors", "arm", arm, "models", 0) for arm in ("short", "long")),
    }  # fmt: skip
    assert check(flow(without(TREES["external"], path)).encode()) == (path in optional)
