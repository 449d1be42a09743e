"""What a plain YAML scalar means here, and which ones are refused because readers disagree.

>>> plain_value("0.95"), plain_value("0..9"), plain_value("60"), plain_value("stale_door")
(Decimal('0.95'), Range(low=0, high=9), 60, 'stale_door')
>>> plain_value("1_000")
Traceback (most recent call last):
    ...
sealkit.plan.scalars.Ambiguous: some readers take 1_000 for a number, some for text
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, TypeAlias

import msgspec

MAX_INT: Final = 2**53 - 1


class Range(msgspec.Struct, frozen=True):
    """The whole numbers low … high, both included, written `low..high`."""

    low: int
    high: int

    def __str__(self) -> str:
        """As it is written in the file."""
        return f"{self.low}..{self.high}"


Value: TypeAlias = bool | int | Decimal | Range | str | None


class Ambiguous(Exception):
    """A scalar that two readers of YAML take for two things: what it is, and what to write instead.

    The reader turns it into a refusal with a place.
    """

    @property
    def what(self) -> str:
        """What is wrong with the scalar."""
        return str(self.args[0])

    @property
    def remedy(self) -> str:
        """What to write instead."""
        return str(self.args[1])

    def __str__(self) -> str:
        """The refusal without a place."""
        return self.what


_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_TRUTHS: Final = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false"))
_integer = re.compile(r"-?(?:0|[1-9][0-9]*)").fullmatch
_decimal = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+").fullmatch
_range = re.compile(r"(0|[1-9][0-9]*)\.\.(0|[1-9][0-9]*)").fullmatch
_zero = re.compile(r"-0(?:\.0+)?").fullmatch
_numeric = re.compile(
    r"[-+]?(?:"
    r"\.?[0-9][0-9_,.]*(?:[eE][-+]?[0-9_]*)?"  # 010  1_000  1,000  .5  5.  +5  1e3  1.2.3
    r"|0[xXoObB][0-9a-fA-F_]+"
    r"|\.?(?:inf|nan|infinity)"
    r")",
    re.IGNORECASE,
).fullmatch
_sexagesimal = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-9]{1,2})+(?:\.[0-9_]*)?").fullmatch
_time = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:(?:[Tt]|[ ]+)[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]*)?)?[ ]*(?P<zone>Z|[-+][0-9]{1,2}(?::?[0-9]{2})?)?)?"
).fullmatch
# Line breaks but \n, controls, surrogates, and what reorders or hides text on a reviewer's screen.
_unseen = re.compile(
    "\r(?!\n)|[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)


def plain_value(text: str) -> Value:
    """What the plain scalar `text` stands for; raises `Ambiguous` where that is not one thing to everybody."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _zero(text):
        raise Ambiguous(f"a negative zero, {text}", "write 0")
    if _integer(text):
        return _whole(text)
    if _decimal(text):
        return _exact(text)
    if match := _range(text):
        return _whole_range(_whole(match[1]), _whole(match[2]))
    _refuse_twofold(text)
    return text


def unseen_character(text: str) -> Iterator[tuple[int, str, str]]:
    """(index, what, remedy) for each character of `text` that a reviewer cannot see as it is, at most 20."""
    for count, match in enumerate(_unseen.finditer(text)):
        if count == 20:
            return
        character = match[0]
        if character == "\t":
            yield match.start(), "a tab", "indent and separate with spaces"
        else:
            yield match.start(), f"the character U+{ord(character):04X}, which does not show", "drop it"


def _whole(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > MAX_INT:
        raise Ambiguous(f"{text[:20]} is beyond 2^53-1", "quote it if it is text")
    return int(text)


def _exact(text: str) -> Decimal:
    whole, _, part = text.lstrip("-").partition(".")
    if len(whole) > 15 or len(part) > 12:
        raise Ambiguous(f"{text[:32]} has more digits than are kept", "at most 15 before the point and 12 after it")
    return Decimal(text)


def _whole_range(low: int, high: int) -> Range:
    if low > high:
        raise Ambiguous(f"the range {low}..{high} holds nothing", f"write {high}..{low}")
    return Range(low, high)


def _refuse_twofold(text: str) -> None:
    shown = text if len(text) <= 40 else text[:39] + "…"
    if text.lower() in ("", "~", "null"):
        raise Ambiguous(f"{shown or 'an empty value'} stands for nothing", 'write null, or "" for empty text')
    if text.lower() in _TRUTHS:
        raise Ambiguous(f"some readers take {text} for a truth value", f'write "{text}" for the word, or true or false')
    if _sexagesimal(text):
        raise Ambiguous(f"some readers take {shown} for a number to base 60", f'write "{shown}" if it is text')
    if match := _time(text):
        if match["zone"] is None:
            raise Ambiguous(f"{shown} is a time without a zone", f'write 2026-08-01T12:30:00Z, or "{shown}" as text')
        return
    if _numeric(text):
        remedy = f'write 0 or 0.5 in plain digits, or "{shown}"'
        raise Ambiguous(f"some readers take {shown} for a number, some for text", remedy)
    if text == "=":
        raise Ambiguous("some readers take = for a default", 'write "="')
