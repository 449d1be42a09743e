"""The tree of errors, their exit codes and how they read, pinned."""

from __future__ import annotations

import inspect

import pytest

from sealkit.wire import errors
from sealkit.wire.errors import (
    HarnessError,
    MalformedError,
    OutOfOrderError,
    SealkitError,
    UntrustedError,
    UsageError,
)

TREE = {
    "SealkitError": (Exception, 3),
    "UsageError": (SealkitError, 2),
    "MalformedError": (SealkitError, 1),
    "UntrustedError": (SealkitError, 1),
    "OutOfOrderError": (SealkitError, 2),
    "HarnessError": (SealkitError, 3),
}


def test_the_tree_and_the_exit_codes() -> None:
    found = {
        name: (kind.__bases__[0], kind.exit_code)
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, SealkitError)
    }
    assert found == TREE


def test_the_docstring_draws_the_same_tree() -> None:
    drawn = [line.split() for line in (errors.__doc__ or "").splitlines() if "──" in line]
    assert {name: int(code) for _, name, code, *_ in drawn} == {
        name: code for name, (_, code) in TREE.items() if name != "SealkitError"
    }


@pytest.mark.parametrize("kind", [UsageError, MalformedError, UntrustedError, OutOfOrderError, HarnessError])
def test_a_message_says_where_what_and_what_to_do(kind: type[SealkitError]) -> None:
    assert str(kind("what")) == "what"
    assert str(kind("what", where="a.yaml:1:2 $.x")) == "a.yaml:1:2 $.x: what"
    assert str(kind("what", remedy="do this")) == "what; do this"
    error = kind("what", where="here", remedy="do this")
    assert str(error) == "here: what; do this"
    assert (error.what, error.where, error.remedy, error.args) == ("what", "here", "do this", ("what",))
