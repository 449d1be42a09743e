"""What each construct of a rule (`wire.rules`) does with values, as closures that the parser nests.

>>> seen, two = read_integer("seen", "here"), constant(2)
>>> operation(OPERATORS["=="], seen, two, "here")({"seen": 2})
True

A value is null, a boolean, a string or a number. Numbers are `int` in the integer dialect and `Fraction` in the
exact one and never meet, so an operator needs no dialect: it looks at its operands, which must be of one type.
Every failure is a `MalformedError` at `here`, the operator's place in the rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Scalar

Given: TypeAlias = Scalar | Decimal | Fraction
Value: TypeAlias = Scalar | Fraction
Node: TypeAlias = Callable[[Mapping[str, Given]], Value]
Operator: TypeAlias = Callable[[Value, Value, str], Value]

LOW: Final = -(2**63)
HIGH: Final = 2**63 - 1
MAX_EXPONENT: Final = 400

_integer = re.compile(r"[+-]?0*[0-9]{1,19}").fullmatch


def constant(value: Value) -> Node:
    """A literal."""
    return lambda values: value


def read_integer(name: str, here: str) -> Node:
    """A name in the integer dialect: null, boolean, string or an integer of 64 bits."""

    def run(values: Mapping[str, Given]) -> Value:
        try:
            value = values[name]
        except KeyError:
            raise MalformedError(f"no value was given for {name!r}", where=here) from None
        if type(value) is int:
            if LOW <= value <= HIGH:
                return value
            raise MalformedError(f"the value of {name} does not fit into 64 bits", where=here)
        if value is None or type(value) is bool or type(value) is str:
            return value
        raise MalformedError(f"{name} is a {type(value).__name__}, which rules over integers do not know", where=here)

    return run


def read_exact(name: str, here: str) -> Node:
    """A name in the exact dialect: null, boolean, string or a number, made a fraction."""

    def run(values: Mapping[str, Given]) -> Value:
        try:
            value = values[name]
        except KeyError:
            raise MalformedError(f"no value was given for {name!r}", where=here) from None
        if value is None or type(value) is bool or type(value) is str or type(value) is Fraction:
            return value
        if type(value) is int:
            return Fraction(value)
        # The exponent is bounded because a fraction writes it out: 1E+999999999 would fill the memory.
        if type(value) is Decimal and value.is_finite() and abs(value.adjusted()) <= MAX_EXPONENT:
            return Fraction(value)
        raise MalformedError(f"{name} is a {type(value).__name__} without a modest exact value", where=here)

    return run


def choice(condition: Node, yes: Node, no: Node, here: str) -> Node:
    """`condition ? yes : no`; the branch not chosen is not evaluated."""

    def run(values: Mapping[str, Given]) -> Value:
        chosen = condition(values)
        if chosen is True:
            return yes(values)
        if chosen is False:
            return no(values)
        raise MalformedError(f"{_show(chosen)} before ?, where a boolean is due", where=here)

    return run


def logical(sign: str, left: Node, right: Node, here: str) -> Node:
    """`&&` or `||`: the deciding operand decides on either side, whatever the other is, even an error."""
    deciding = sign == "||"
    other = not deciding

    def run(values: Mapping[str, Given]) -> Value:
        try:
            first = left(values)
        except MalformedError:
            if right(values) is deciding:
                return deciding
            raise
        if first is deciding:
            return deciding
        second = right(values)
        if second is deciding:
            return deciding
        if first is other and second is other:
            return other
        raise MalformedError(f"{_show(first)} {sign} {_show(second)}, where booleans are due", where=here)

    return run


def operation(apply: Operator, left: Node, right: Node, here: str) -> Node:
    """An operator that needs both its operands."""
    return lambda values: apply(left(values), right(values), here)


def negation(node: Node, here: str) -> Node:
    """`!node`."""

    def run(values: Mapping[str, Given]) -> Value:
        value = node(values)
        if value is True or value is False:
            return not value
        raise MalformedError(f"! before {_show(value)}, where a boolean is due", where=here)

    return run


def minus(node: Node, here: str) -> Node:
    """`-node`."""

    def run(values: Mapping[str, Given]) -> Value:
        value = node(values)
        if type(value) is int:
            return int64(-value, here)
        if type(value) is Fraction:
            return -value
        raise MalformedError(f"- before {_show(value)}, where a number is due", where=here)

    return run


def to_integer(node: Node, here: str) -> Node:
    """`int(node)`: an integer itself, a string of decimal digits read; refused for the rest."""

    def run(values: Mapping[str, Given]) -> Value:
        value = node(values)
        if type(value) is int:
            return value
        if type(value) is str and _integer(value):
            return int64(int(value), here)
        raise MalformedError(f"int() of {_show(value)}", where=here)

    return run


# --- operators -----------------------------------------------------------------------------------


def int64(value: int, here: str) -> int:
    """`value` itself if 64 bits hold it."""
    if LOW <= value <= HIGH:
        return value
    raise MalformedError(f"{value} does not fit into 64 bits", where=here)


def _show(value: Value) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:39] + "…")
    # Python refuses to write out thousands of digits.
    digits = max(value.numerator.bit_length(), value.denominator.bit_length()) * 3 // 10
    return str(value) if digits <= 40 else f"a number of some {digits} digits"


def _unfit(sign: str, a: Value, b: Value, here: str) -> MalformedError:
    return MalformedError(f"{sign} is not defined for {_show(a)} and {_show(b)}", where=here)


def _equal(a: Value, b: Value, here: str) -> bool:
    return type(a) is type(b) and a == b


def _unequal(a: Value, b: Value, here: str) -> bool:
    return type(a) is not type(b) or a != b


def _ordering(sign: str, holds: Callable[[object, object], bool]) -> Operator:
    def compare(a: Value, b: Value, here: str) -> bool:
        if type(a) is type(b) and a is not None:
            return holds(a, b)
        raise _unfit(sign, a, b, here)

    return compare


def _add(a: Value, b: Value, here: str) -> Value:
    if type(a) is int and type(b) is int:
        return int64(a + b, here)
    if type(a) is Fraction and type(b) is Fraction:
        return a + b
    if type(a) is str and type(b) is str:
        return a + b
    raise _unfit("+", a, b, here)


def _subtract(a: Value, b: Value, here: str) -> Value:
    if type(a) is int and type(b) is int:
        return int64(a - b, here)
    if type(a) is Fraction and type(b) is Fraction:
        return a - b
    raise _unfit("-", a, b, here)


def _multiply(a: Value, b: Value, here: str) -> Value:
    if type(a) is int and type(b) is int:
        return int64(a * b, here)
    if type(a) is Fraction and type(b) is Fraction:
        return a * b
    raise _unfit("*", a, b, here)


def _divide(a: Value, b: Value, here: str) -> Value:
    if type(a) is int and type(b) is int:
        return int64(_quotient(a, b, here), here)
    if type(a) is Fraction and type(b) is Fraction:
        if not b:
            raise MalformedError("division by zero", where=here)
        return a / b
    raise _unfit("/", a, b, here)


def _remainder(a: Value, b: Value, here: str) -> Value:
    if type(a) is int and type(b) is int:
        # CEL refuses the one remainder whose quotient overflows, although it would be 0.
        return a - b * int64(_quotient(a, b, here), here)
    raise _unfit("%", a, b, here)


def _quotient(a: int, b: int, here: str) -> int:
    if not b:
        raise MalformedError("division by zero", where=here)
    return a // b if (a < 0) == (b < 0) else -(-a // b)


OPERATORS: dict[str, Operator] = {
    "==": _equal,
    "!=": _unequal,
    "<": _ordering("<", lambda a, b: a < b),  # type: ignore[operator]
    "<=": _ordering("<=", lambda a, b: a <= b),  # type: ignore[operator]
    ">": _ordering(">", lambda a, b: a > b),  # type: ignore[operator]
    ">=": _ordering(">=", lambda a, b: a >= b),  # type: ignore[operator]
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
}
