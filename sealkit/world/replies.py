"""Reads the one JSON object in what a model replied, for arms and for readings.

A reply holds exactly one JSON object. Text around it, such as a code fence or a sentence, is passed over. None, or two
of them, cannot be read; nor can an object with a key twice, or a reply beyond `MOST_CHARACTERS`.

>>> read_object('Sure! ```json\\n{"action": "look"}\\n```')
{'action': 'look'}
>>> read_object("{} or {}")
Unreadable(why='it holds more than one JSON object')
"""

from __future__ import annotations

import json
from typing import Final, TypeAlias

import msgspec

from sealkit.wire.records import Json

MOST_CHARACTERS: Final = 64 * 1024
_MOST_STARTS: Final = 50  # how many "{" are tried for an object

Object: TypeAlias = dict[str, Json]


class Unreadable(msgspec.Struct, frozen=True):
    """Why a reply cannot be read, in words that may be shown to the agent: none of them are its own."""

    why: str


def read_object(text: str) -> Object | Unreadable:
    """The one JSON object in a reply."""
    if len(text) > MOST_CHARACTERS:
        return Unreadable("it is too long")
    found, at = list[Object](), 0
    for _ in range(_MOST_STARTS):
        at = text.find("{", at)
        if at < 0:
            break
        try:
            value, at = _decoder.raw_decode(text, at)
        except _TwiceError:
            return Unreadable("one of its keys stands there twice")
        except (ValueError, RecursionError):
            at += 1
            continue
        found.append(value)
    if len(found) != 1:
        return Unreadable("it holds more than one JSON object" if found else "it holds no JSON object")
    return found[0]


def is_half(text: str) -> bool:
    """Whether the text holds a lone surrogate, as JSON may spell it; no record can hold one."""
    return any("\ud800" <= character <= "\udfff" for character in text)


class _TwiceError(Exception):
    """A key stands twice in one object."""


def _once(pairs: list[tuple[str, Json]]) -> Object:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwiceError
    return found


_decoder = json.JSONDecoder(object_pairs_hook=_once)
