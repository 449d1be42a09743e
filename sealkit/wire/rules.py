"""Rules: a small part of the Common Expression Language (CEL), parsed and evaluated here.

The same language writes triggers of contracts, pass rules of hypotheses and policies, so that a rule that was
declared and a rule that was learned are comparable values.

>>> rule = compile_rule("held && seen == 2", ("held", "seen", "at"), numbers="integer")
>>> rule.evaluate({"held": True, "seen": 2}), rule.names, rule.constants
(True, ('held', 'seen'), (2,))
>>> compile_rule("dc.lower > 0.1 - 0.3 + 0.2", ("dc.lower",), numbers="decimal").evaluate({"dc.lower": 0})
False
>>> compile_rule("sen == 2", ("held", "seen"), numbers="integer")
Traceback (most recent call last):
    ...
sealkit.wire.errors.MalformedError: rule 'sen == 2', column 1: no name 'sen' is declared here; did you mean 'seen'?

    rule     = either [ "?" either ":" rule ]           two branches; only the chosen one is evaluated
    either   = both { "||" both }
    both     = relation { "&&" relation }
    relation = sum { ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum }        all on one level, from the left
    sum      = product { ( "+" | "-" ) product }
    product  = unary { ( "*" | "/" | "%" ) unary }
    unary    = [ "!" | "-" ] member                     one at most: CEL implementations disagree on two
    member   = number | string | "true" | "false" | "null" | name | "(" rule ")" | "int" "(" rule ")"

At most 500 bytes and 16 levels of parentheses and branches. A name is `a` or `a.b`, one name looked up whole. A
string stands in '..' or "..", without a backslash. Nothing else exists: no macros, lists, maps or other functions.

Two dialects. `integer` is CEL: int64, where overflow, division by zero and mixed types are errors, and `/` and `%`
round toward zero. `decimal` is exact: every number is a fraction, `0.1 + 0.2 == 0.3` holds, and `%` and `int()` are
refused. In both, `==` between two types is false; `<` orders two numbers, two strings (by code point) or two
booleans (false first); `false && error` is false and `true || error` is true, on either side.

Every refusal is a `MalformedError` with the column. `compile_rule` refuses what can be seen without values,
`Rule.evaluate` the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, NoReturn, TypeAlias, overload

from sealkit.wire.closures import (
    HIGH,
    LOW,
    OPERATORS,
    Given,
    Node,
    Value,
    choice,
    constant,
    logical,
    minus,
    negation,
    operation,
    read_exact,
    read_integer,
    to_integer,
)
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Scalar

MAX_BYTES: Final = 500
MAX_NESTING: Final = 16

Numbers: TypeAlias = Literal["integer", "decimal"]

_KEYWORDS: Final = {"true": True, "false": False, "null": None}
# What CEL keeps for itself and its host languages; its implementations refuse them as names.
_is_reserved = re.compile(
    r"(as|break|const|continue|double|else|false|for|function|if|import|in|int|let|loop|namespace|null|package|return"
    r"|true|var|void|while)(\.|\Z)"
).match
# From the loosest to the tightest binding.
_LEVELS: Final = (("||",), ("&&",), ("==", "!=", "<=", ">=", "<", ">"), ("+", "-"), ("*", "/", "%"))
_BLANKS: Final = " \t\n\f\r"
_token = re.compile(
    r"""[ \t\n\f\r]*(?:
        (?P<number>(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?![A-Za-z0-9_.]))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?(?![A-Za-z0-9_.]))
      | (?P<string>'[^'\\\n]*'|"[^"\\\n]*")
      | (?P<sign>&&|\|\||[!=<>]=|[-+*/%<>!?:()])
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
).match


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled rule: its text, the names it uses and the numeric literals in it, each once and sorted."""

    text: str
    numbers: Numbers
    names: tuple[str, ...]
    constants: tuple[int | Fraction, ...]
    _run: Node = field(repr=False, compare=False)

    def evaluate(self, values: Mapping[str, Given]) -> Value:
        """The rule's value where each of `names` has the value given; `MalformedError` where it has none."""
        return self._run(values)


@dataclass(frozen=True, slots=True)
class IntegerRule(Rule):
    """A rule in the integer dialect, which knows no fractions."""

    def evaluate(self, values: Mapping[str, Given]) -> Scalar:
        """As for every rule; a number is an integer of 64 bits."""
        return self._run(values)  # type: ignore[return-value]


@overload
def compile_rule(text: str, names: Iterable[str], *, numbers: Literal["integer"]) -> IntegerRule: ...
@overload
def compile_rule(text: str, names: Iterable[str], *, numbers: Numbers) -> Rule: ...
def compile_rule(text: str, names: Iterable[str], *, numbers: Numbers) -> Rule:
    """The rule that `text` spells over the declared `names`; `MalformedError` with the column if none."""
    return _compiled(text, tuple(names), numbers)


@lru_cache(maxsize=1024)
def _compiled(text: str, names: tuple[str, ...], numbers: Numbers) -> Rule:
    parser = _Parser(text, frozenset(names), numbers)
    run = parser.whole()
    kind = IntegerRule if numbers == "integer" else Rule
    return kind(text, numbers, tuple(sorted(parser.used)), tuple(sorted(parser.constants)), run)


class _Parser:
    """Recursive descent over the grammar above, each production making one closure."""

    def __init__(self, text: str, names: frozenset[str], numbers: Numbers) -> None:
        self.text = text
        self.names = names
        self.numbers = numbers
        self.used: set[str] = set()
        self.constants: set[int | Fraction] = set()
        self.nesting = 0
        self.start = 0
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            self.refuse("a lone surrogate, which UTF-8 cannot hold")
        if size > MAX_BYTES:
            self.refuse(f"a rule of {size} bytes, due at most {MAX_BYTES}")
        self._next(0)

    def whole(self) -> Node:
        node = self.rule()
        if self.kind != "end":
            self.refuse(f"found {self.token!r} where an operator or the end is due")
        return node

    def _next(self, start: int) -> None:
        match = _token(self.text, start)
        if match is None:
            unread = self.text[start:].lstrip(_BLANKS)
            self.start = len(self.text) - len(unread)
            self.refuse(f"cannot read {unread[:12]!r}")
        self.kind = str(match.lastgroup)
        self.token = match[self.kind]
        self.start, self.end = match.end() - len(self.token), match.end()

    def take(self, *signs: str) -> str:
        """The sign here if it is one of `signs`, stepping past it; else nothing."""
        if self.kind != "sign" or self.token not in signs:
            return ""
        sign = self.token
        self._next(self.end)
        return sign

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            self.refuse(f"found {self.token or 'the end'!r} where {sign!r} is due")

    @property
    def here(self) -> str:
        text = self.text if len(self.text) <= 80 else self.text[:79] + "…"
        return f"rule {text!r}, column {self.start + 1}"

    def refuse(self, what: str, remedy: str = "") -> NoReturn:
        raise MalformedError(what, where=self.here, remedy=remedy)

    # --- productions

    def rule(self) -> Node:
        condition = self.binary(0)
        here = self.here
        if not self.take("?"):
            return condition
        yes = self.binary(0)
        self.expect(":")
        return choice(condition, yes, self.nested(self.rule), here)

    def nested(self, production: Callable[[], Node]) -> Node:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.refuse(f"nested deeper than {MAX_NESTING}")
        node = production()
        self.nesting -= 1
        return node

    def binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self.unary()
        node = self.binary(level + 1)
        while True:
            here = self.here
            sign = self.take(*_LEVELS[level])
            if not sign:
                return node
            if sign == "%" and self.numbers == "decimal":
                raise MalformedError("% is for integers; here every number is exact", where=here)
            right = self.binary(level + 1)
            if sign in ("&&", "||"):
                node = logical(sign, node, right, here)
            else:
                node = operation(OPERATORS[sign], node, right, here)

    def unary(self) -> Node:
        here = self.here
        sign = self.take("!", "-")
        if sign == "-" and self.kind == "number":
            return self.number("-")
        if sign and self.kind == "sign" and self.token in ("!", "-"):
            self.refuse(f"{sign} before {self.token}", remedy="use parentheses")
        node = self.member()
        return negation(node, here) if sign == "!" else minus(node, here) if sign else node

    def member(self) -> Node:
        kind, token, here = self.kind, self.token, self.here
        if kind == "number":
            return self.number("")
        if self.take("("):
            node = self.nested(self.rule)
            self.expect(")")
            return node
        if kind == "string":
            self._next(self.end)
            return constant(token[1:-1])
        if kind != "name":
            self.refuse(f"found {token or 'the end'!r} where a value is due")
        self._next(self.end)
        if self.kind == "sign" and self.token == "(":
            return self.call(token, here)
        if token in _KEYWORDS:
            return constant(_KEYWORDS[token])
        return self.name(token, here)

    def number(self, sign: str) -> Node:
        literal = sign + self.token
        value: int | Fraction
        if self.numbers == "decimal":
            value = Fraction(literal)
        elif "." in literal:
            self.refuse(f"{literal} is no integer", remedy="write it in a smaller unit")
        else:
            value = int(literal)
            if not LOW <= value <= HIGH:
                self.refuse(f"{literal} does not fit into 64 bits")
        self.constants.add(value)
        self._next(self.end)
        return constant(value)

    def call(self, function: str, here: str) -> Node:
        if function != "int" or self.numbers == "decimal":
            due = "int(x) is the only function" if self.numbers == "integer" else "there are no functions here"
            raise MalformedError(f"{function}() cannot be called; {due}", where=here)
        self.expect("(")
        node = self.nested(self.rule)
        self.expect(")")
        return to_integer(node, here)

    def name(self, name: str, here: str) -> Node:
        if _is_reserved(name):
            raise MalformedError(f"{name!r} is reserved by CEL", where=here, remedy="declare another name")
        if name not in self.names:
            import difflib

            known = sorted(self.names)
            begun = [one for one in known if one.startswith(name)]  # `p` for `p_adjusted` is further off than it looks
            near = begun or difflib.get_close_matches(name, known, n=1, cutoff=0.0)
            remedy = f"did you mean {near[0]!r}?" if near else ""
            raise MalformedError(f"no name {name!r} is declared here", where=here, remedy=remedy)
        self.used.add(name)
        return read_integer(name, here) if self.numbers == "integer" else read_exact(name, here)
