"""How numbers and foreign text are shown to people: rounded once, at the very end, and obeyed by nothing.

>>> number("0.939796123456"), number("0.000000000000"), number("-0.0001"), number(60), number(None)
('0.940', '0', '−0.000', '60', '–')
>>> p_value("0.000012"), p_value("0.012")
('<0.001', '0.012')
>>> plain("a\\x1b[31mred\\u202e")
'a\\\\x1b[31mred\\\\u202e'
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal

from sealkit.wire.records import Json
from sealkit.wire.text import plain as plain

PLACES = Decimal("0.001")


def number(value: Json) -> str:
    """A number of a record with three places, counts as they are; a dash for what is not there.

    Only what is exactly 0 reads 0.
    """
    if value is None or isinstance(value, (bool, list, dict)):
        return "–"
    if isinstance(value, int):
        return str(value)
    exact = Decimal(value)
    return f"{exact.quantize(PLACES, ROUND_HALF_EVEN):f}".replace("-", "−") if exact else "0"


def p_value(value: Json) -> str:
    """A p-value; one below the last place shown says so."""
    if isinstance(value, str) and 0 < Decimal(value) < PLACES:
        return f"<{PLACES}"
    return number(value)


def interval(row: dict[str, Json]) -> str:
    """`lower to upper` of a row, or nothing."""
    if row.get("lower") is None or row.get("upper") is None:
        return ""
    return f"{number(row['lower'])} to {number(row['upper'])}"


def words(name: str) -> str:
    """A name as a phrase: `not_shown` reads `not shown`."""
    return name.replace("_", " ")


def tries_again_words(tries: Mapping[str, Json], *, how: str = "drawn again") -> str:
    """How many tries were drawn again, or ended otherwise, by arm, in the order of names.

    >>> tries_again_words({"plain": 3, "steps": 0})
    '3 tries drawn again in arm plain, 0 in arm steps'
    """
    first, *others = sorted(tries.items())
    return ", ".join([f"{first[1]} tries {how} in arm {first[0]}", *(f"{n} in arm {arm}" for arm, n in others)])
