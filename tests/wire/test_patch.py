"""Patches: RFC 6901 and 6902 by example, every refusal by name, and `jsonpatch` as a second implementation."""

from __future__ import annotations

import copy
import random

import jsonpatch
import jsonpointer
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealkit.wire.errors import MalformedError
from sealkit.wire.patch import apply, covers, diff, resolve, tokens
from sealkit.wire.records import Add, Json, Op, Patch, Remove, Replace

# RFC 6901, section 5.
EXAMPLE: dict[str, Json] = {
    "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6, " ": 7, "m~n": 8,
}  # fmt: skip


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", EXAMPLE),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_the_pointers_of_rfc_6901(pointer: str, value: Json) -> None:
    assert resolve(EXAMPLE, pointer) == value


@pytest.mark.parametrize(
    ("pointer", "due"),
    [("", ()), ("/", ("",)), ("/a/b", ("a", "b")), ("//", ("", "")), ("/~01/~10/~0~1", ("~1", "/0", "~/"))],
)
def test_tokens(pointer: str, due: tuple[str, ...]) -> None:
    assert tokens(pointer) == due


@pytest.mark.parametrize("pointer", ["a", "a/b", " /a", "~0"])
def test_a_pointer_begins_with_a_slash(pointer: str) -> None:
    for reading in (
        lambda: tokens(pointer),
        lambda: resolve({}, pointer),
        lambda: apply({}, (Add(path=pointer, value=1),)),
    ):
        with pytest.raises(MalformedError, match="a pointer is empty or begins with /") as refusal:
            reading()
        assert refusal.value.where == repr(pointer)


@pytest.mark.parametrize("pointer", ["/~", "/a~", "/~2", "/a~/b", "/~~0", "/~00~"])
def test_a_stray_tilde_is_refused(pointer: str) -> None:
    with pytest.raises(MalformedError, match="~ without 0 or 1 after it"):
        tokens(pointer)


STATE: dict[str, Json] = {"doors": {"d0": "open"}, "log": [1, [2], {"x": None}], "n": 3, "flag": True, "none": None}

REFUSED: list[tuple[Op, str]] = [
    (Replace(path="", value={}), "the empty pointer"),
    (Add(path="", value={}), "the empty pointer"),
    (Remove(path=""), "the empty pointer"),
    (Replace(path="/walls", value=1), "nothing is called 'walls'"),
    (Remove(path="/walls"), "nothing is called 'walls'"),
    (Replace(path="/doors/d1", value=1), "nothing is called 'd1'"),
    (Add(path="/walls/w0", value=1), "nothing is called 'walls'"),
    (Remove(path="/doors/d0/lock"), "a value of type str"),
    (Add(path="/n/x", value=1), "a value of type int"),
    (Add(path="/flag/0", value=1), "a value of type bool"),
    (Add(path="/none/x", value=1), "a value of type null"),
    (Replace(path="/log/3", value=1), "index 3 where 3 places are"),
    (Remove(path="/log/3"), "index 3 where 3 places are"),
    (Add(path="/log/4", value=1), "index 4 where 4 places are"),
    (Add(path="/log/3/x", value=1), "index 3 where 3 places are"),
    (Replace(path="/log/-", value=1), "'-' is no array index"),
    (Remove(path="/log/-"), "'-' is no array index"),
    (Add(path="/log/-/x", value=1), "'-' is no array index"),
    (Replace(path="/log/00", value=1), "'00' is no array index"),
    (Replace(path="/log/01", value=1), "'01' is no array index"),
    (Replace(path="/log/-1", value=1), "'-1' is no array index"),
    (Replace(path="/log/+1", value=1), "'+1' is no array index"),
    (Replace(path="/log/1.0", value=1), "'1.0' is no array index"),
    (Replace(path="/log/1_0", value=1), "'1_0' is no array index"),
    (Replace(path="/log/ 1", value=1), "' 1' is no array index"),
    (Replace(path="/log/1\n", value=1), "is no array index"),
    (Replace(path="/log/\u0661", value=1), "is no array index"),
    (Replace(path="/log/", value=1), "'' is no array index"),
    (Replace(path="/log/x", value=1), "'x' is no array index"),
    (Replace(path="/log/" + "9" * 5000, value=1), "is no array index"),
]


@pytest.mark.parametrize(("op", "what"), REFUSED, ids=[f"{type(op).__name__} {op.path[:12]!r}" for op, _ in REFUSED])
def test_apply_refuses_with_the_pointer(op: Op, what: str) -> None:
    before = copy.deepcopy(STATE)
    with pytest.raises(MalformedError) as refusal:
        apply(STATE, (Replace(path="/n", value=4), op))
    assert what in refusal.value.what
    assert refusal.value.where == (op.path or "''")
    assert before == STATE


@pytest.mark.parametrize("pointer", ["/walls", "/doors/d0/x", "/log/3", "/log/-", "/log/01", "/none/x", "/n/0"])
def test_resolve_refuses_what_is_not_there(pointer: str) -> None:
    with pytest.raises(MalformedError) as refusal:
        resolve(STATE, pointer)
    assert refusal.value.where == pointer


@pytest.mark.parametrize(
    ("op", "due"),
    [
        (Add(path="/log/0", value=9), [9, 1, [2], {"x": None}]),
        (Add(path="/log/3", value=9), [1, [2], {"x": None}, 9]),
        (Add(path="/log/-", value=9), [1, [2], {"x": None}, 9]),
        (Replace(path="/log/1/0", value=9), [1, [9], {"x": None}]),
        (Remove(path="/log/0"), [[2], {"x": None}]),
        (Add(path="/log/2/-", value=9), [1, [2], {"x": None, "-": 9}]),
        (Add(path="/log/2/x", value=9), [1, [2], {"x": 9}]),
    ],
)
def test_apply_in_arrays(op: Op, due: Json) -> None:
    assert resolve(apply(STATE, (op,)), "/log") == due


def test_a_root_may_be_an_array() -> None:
    assert apply([1, 2], (Remove(path="/0"), Add(path="/-", value=3))) == [2, 3]
    with pytest.raises(MalformedError, match="a value of type str"):
        apply("text", (Add(path="/0", value=1),))


def test_what_did_not_change_is_shared_and_nothing_is_mutated() -> None:
    before = copy.deepcopy(STATE)
    after = apply(STATE, (Replace(path="/doors/d0", value="shut"), Add(path="/doors/d1", value="open")))
    assert before == STATE and isinstance(after, dict)
    assert after["log"] is STATE["log"] and after["doors"] is not STATE["doors"]
    deep = apply(STATE, (Replace(path="/log/1/0", value=5),))
    assert resolve(deep, "/log/2") is resolve(STATE, "/log/2") and resolve(deep, "/doors") is STATE["doors"]
    assert apply(STATE, ()) is STATE


def test_a_value_is_not_changed_by_the_operations_after_it() -> None:
    value: Json = {"x": [1]}
    patch: Patch = (
        Add(path="/new", value=value),
        Add(path="/new/x/-", value=2),
        Add(path="/again", value=value),
        Remove(path="/again/x/0"),
    )
    assert apply({}, patch) == {"new": {"x": [1, 2]}, "again": {"x": []}}
    assert value == {"x": [1]}


def test_tuples_are_arrays() -> None:
    state: Json = {"log": (1, (2, 3))}  # type: ignore[dict-item]
    assert apply(state, (Replace(path="/log/1/0", value=9),)) == {"log": [1, [9, 3]]}
    assert resolve(state, "/log/1/1") == 3
    assert diff(state, {"log": [1, [2, 3]]}) == ()
    assert diff({"log": [1]}, state) == (Add(path="/log/1", value=(2, 3)),)  # type: ignore[arg-type]


# --- diff ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({}, {}, ()),
        ({"a": 1}, {"a": 1}, ()),
        ({"a": 1}, {"a": True}, (Replace(path="/a", value=True),)),
        ({"a": False}, {"a": 0}, (Replace(path="/a", value=0),)),
        ({"a": [1, True]}, {"a": [True, 1]}, (Replace(path="/a/0", value=True), Replace(path="/a/1", value=1))),
        ({"a": 1}, {"a": "1"}, (Replace(path="/a", value="1"),)),
        ({"a": None}, {}, (Remove(path="/a"),)),
        ({}, {"a": None}, (Add(path="/a", value=None),)),
        ({"a": {}}, {"a": []}, (Replace(path="/a", value=[]),)),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, (Replace(path="/a/c", value=3),)),
        ({"b": 1, "a": 1}, {"c": 1, "a": 2}, (Replace(path="/a", value=2), Remove(path="/b"), Add(path="/c", value=1))),
        ({"a": [1, 2, 3]}, {"a": [1]}, (Remove(path="/a/2"), Remove(path="/a/1"))),
        (
            {"a": [1]},
            {"a": [0, 2, 3]},
            (Replace(path="/a/0", value=0), Add(path="/a/1", value=2), Add(path="/a/2", value=3)),
        ),
        ({"a": [[1], 2]}, {"a": [[1, 1], 2]}, (Add(path="/a/0/1", value=1),)),
        ({}, {"~/": {"x": 1}}, (Add(path="/~0~1", value={"x": 1}),)),
        ({"~/": {"/": 1}}, {"~/": {"/": 2}}, (Replace(path="/~0~1/~1", value=2),)),
        ([1], [2], (Replace(path="/0", value=2),)),
    ],
)
def test_diff(before: Json, after: Json, patch: Patch) -> None:
    assert msgspec.json.encode(diff(before, after)) == msgspec.json.encode(patch)
    assert exactly(apply(before, patch)) == exactly(after)


@pytest.mark.parametrize(("before", "after"), [({}, []), (1, 2), (1, True), ("a", None)])
def test_diff_replaces_no_whole_document(before: Json, after: Json) -> None:
    with pytest.raises(MalformedError, match="the whole document differs"):
        diff(before, after)
    assert diff(before, before) == ()


def test_equal_values_need_not_be_the_same_object() -> None:
    long, again = "".join(["a", "b"]), "".join(["a", "b"])
    assert long is not again
    assert diff({"a": long, "b": int("123456")}, {"a": again, "b": int("123456")}) == ()


keys = st.sampled_from(["a", "b", "0", "1", "-", "~", "/", "", "~1", "é"])
leaves = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "1"])
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)
documents = st.dictionaries(keys, values, max_size=4)


def exactly(value: Json) -> bytes:
    """Bytes that tell True from 1; neither patch implementation keeps the order of keys."""
    return msgspec.json.encode(value, order="sorted")


def foreign(patch: Patch) -> jsonpatch.JsonPatch:
    return jsonpatch.JsonPatch(msgspec.to_builtins(patch))


@given(documents, documents)
def test_a_diff_leads_from_one_document_to_the_other_in_both_implementations(
    before: dict[str, Json], after: dict[str, Json]
) -> None:
    kept = exactly(before), exactly(after)
    patch = diff(before, after)
    assert exactly(apply(before, patch)) == exactly(after)
    assert exactly(foreign(patch).apply(before)) == exactly(after)
    assert (exactly(before), exactly(after)) == kept
    assert (patch == ()) == (exactly(before) == exactly(after))
    reordered = {key: before[key] for key in reversed(before)}
    assert exactly(diff(reordered, after)) == exactly(patch)  # type: ignore[arg-type]


@given(documents, documents)
def test_a_diff_is_minimal(before: dict[str, Json], after: dict[str, Json]) -> None:
    """No operation can be left out: without it the result is another, or the rest does not apply."""
    patch = diff(before, after)
    for left_out in range(len(patch)):
        rest = patch[:left_out] + patch[left_out + 1 :]
        try:
            assert exactly(apply(before, rest)) != exactly(after)
        except MalformedError:
            continue


def places(value: Json, pointer: str = "") -> list[str]:
    """Every pointer into `value`, and some that lead nowhere."""
    found = [pointer] * 4 + [f"{pointer}/-", f"{pointer}/0", f"{pointer}/x", f"{pointer}/00", f"{pointer}/2"]
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, item in enumerate([*value, None]):
            found += places(item, f"{pointer}/{index}")
    return found


def random_document(draw: random.Random, depth: int) -> Json:
    kind = draw.random()
    if depth and kind < 0.35:
        return [random_document(draw, depth - 1) for _ in range(draw.randrange(4))]
    if depth and kind < 0.8:
        names = draw.sample(["a", "b", "0", "1", "-", "~", "/", "", "~1"], k=draw.randrange(4))
        return {name: random_document(draw, depth - 1) for name in names}
    return draw.choice((None, True, False, 0, 1, 2, "", "a"))


def test_apply_agrees_with_jsonpatch_on_random_patches() -> None:
    draw = random.Random(6902)
    refused = applied = 0
    for _ in range(6000):
        document = random_document(draw, 3)
        if not isinstance(document, (dict, list)):
            continue
        ops: list[Op] = []
        for _ in range(draw.choice((1, 1, 2, 3))):
            path = draw.choice(places(document)[4:])
            value = random_document(draw, 1)
            ops.append(draw.choice((Add(path=path, value=value), Replace(path=path, value=value), Remove(path=path))))
        kept = exactly(document)
        try:
            due = exactly(foreign(tuple(ops)).apply(document))
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError):
            refused += 1
            with pytest.raises(MalformedError):
                apply(document, ops)
        else:
            applied += 1
            assert exactly(apply(document, ops)) == due, (document, ops)
        assert exactly(document) == kept
    assert refused > 1000 and applied > 1000


# --- footprints ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "pointer", "due"),
    [
        ("/doors", "/doors", True),
        ("/doors", "/doors/d0", True),
        ("/doors", "/doors/d0/lock", True),
        ("/doors/d0", "/doors", False),
        ("/doors", "/door", False),
        ("/door", "/doors", False),
        ("/doors/*", "/doors/d0", True),
        ("/doors/*", "/doors/d0/lock", True),
        ("/doors/*", "/doors", False),
        ("/*/d0", "/doors/d0", True),
        ("/*/d0", "/doors/d1", False),
        ("/*", "/doors", True),
        ("/*", "", False),
        ("", "", True),
        ("", "/doors", True),
        ("/doors/d*", "/doors/d0", False),
        ("/a~1b", "/a~1b/c", True),
        ("/a~1b", "/a/b", False),
        ("/doors/", "/doors/", True),
        ("/doors/", "/doors/d0", False),
        ("/doors/*", "/doors/", True),
    ],
)
def test_covers(pattern: str, pointer: str, due: bool) -> None:
    assert covers(pattern, pointer) is due


@pytest.mark.parametrize(
    ("pattern", "pointer", "where"), [("*", "", "'*'"), ("*/d0", "/a/d0", "'*/d0'"), ("", "a", "'a'")]
)
def test_covers_refuses_what_is_no_pointer(pattern: str, pointer: str, where: str) -> None:
    with pytest.raises(MalformedError, match="begins with /") as refusal:
        covers(pattern, pointer)
    assert refusal.value.where == where


@given(documents, documents)
def test_a_footprint_of_its_components_covers_every_change(before: dict[str, Json], after: dict[str, Json]) -> None:
    for op in diff(before, after):
        component = tokens(op.path)[0].replace("~", "~0").replace("/", "~1")
        assert covers(f"/{component}", op.path) and covers("/*", op.path)
        assert not covers(f"/{component}x", op.path)
