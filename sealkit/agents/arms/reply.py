"""Reads what a model replied: one JSON object, by rules that are the same for every arm.

1. A reply holds exactly one JSON object, as `sealkit.world.replies` reads it.
2. `action` is one of the world's actions, in any case. "move porch" in this one field is split at the first blank, if
   `argument` is empty or says the same. Anything else there cannot be read.
3. `argument` is text, and may be left out or null. An action that takes none passes it over. Where a world gives
   actions a schema, `arguments` takes its place: an object, none if left out or null. What no record can hold, such as
   a fraction, cannot be read; whether the schema is met is for the world to say.
4. Notes and plan are text; left out or null, they stay as they were. They are cut behind their last allowed character,
   once blanks at both ends are gone.
5. Beliefs are a list of objects with `subject`, `value` and `seen`; cites a list of texts; both may be left out or
   null. Of a list the first `MOST_ITEMS` count. A subject or a value is cut at `MOST_WORDS` characters; a value that
   is empty or null withdraws the belief. A `seen` that is no earlier return stands for the last one.
6. Other keys are passed over. What is of another type than said here cannot be read.

>>> read_action({"action": "pay", "arguments": {"sum": 3}}, {"pay": {"type": "object"}})
Action(name='pay', args={'sum': 3})
>>> read_action({"action": "Move porch"}, {"move": "to", "look": None})
Action(name='move', args={'to': 'porch'})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from sealkit.wire.canon import encode_value
from sealkit.wire.episode import Action
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Json
from sealkit.world.beliefs import Update
from sealkit.world.replies import Object, Unreadable, is_half

MOST_ITEMS: Final = 12
MOST_WORDS: Final = 120
Takes: TypeAlias = str | Mapping[str, Json] | None
_ROOM: Final = 16  # levels of nesting that an episode may put around arguments


def read_action(reply: Object, actions: Mapping[str, Takes]) -> Action | Unreadable:
    """The action asked for; `actions` names the one argument of each, or null, or has the schema of its arguments."""
    name, argument = reply.get("action"), _text(reply, "argument")
    if not isinstance(name, str):
        return Unreadable("`action` is no text")
    if isinstance(argument, Unreadable):
        return argument
    name, argument, rest = name.strip(), (argument or "").strip(), ""
    if name.lower() not in actions:
        name, _, rest = (part.strip() for part in name.partition(" "))
        if name.lower() not in actions or (argument and argument.lower() != rest.lower()):
            return Unreadable(f"`action` is none of {', '.join(actions)}")
        argument = rest
    takes = actions[name.lower()]
    if isinstance(takes, Mapping):
        return Unreadable(f"`action` is none of {', '.join(actions)}") if rest else _called(name.lower(), reply)
    if is_half(argument):
        return Unreadable("it holds half a character")
    return Action(name=name.lower(), args={} if takes is None else {takes: argument[:MOST_WORDS]})


def _called(name: str, reply: Object) -> Action | Unreadable:
    args = reply.get("arguments")
    if args is None:
        args = {}
    if not isinstance(args, dict):
        return Unreadable("`arguments` is no object")
    deep: Json = args
    for _ in range(_ROOM):
        deep = [deep]
    try:
        encode_value(deep)
    except MalformedError:
        return Unreadable("`arguments` holds what cannot be taken down, such as a fraction")
    return Action(name=name, args=args)


def read_text(reply: Object, key: str, *, before: str, limit: int) -> str | Unreadable:
    """Notes or plan, cut at `limit` characters; `before` if the reply does not say."""
    text = _text(reply, key)
    if isinstance(text, Unreadable):
        return text
    return before if text is None else text.strip()[:limit].rstrip()


def read_cites(reply: Object) -> tuple[str, ...] | Unreadable:
    """The cites, blanks at their ends gone."""
    given = reply.get("cites") or []
    if not isinstance(given, list) or not all(isinstance(cite, str) and not is_half(cite) for cite in given):
        return Unreadable("`cites` is no list of texts")
    return tuple(str(cite).strip()[:MOST_WORDS] for cite in given[:MOST_ITEMS])


def read_updates(reply: Object, *, last: int) -> tuple[Update, ...] | Unreadable:
    """The belief updates; `last` is the act whose return the agent saw last."""
    given = reply.get("beliefs") or []
    if not isinstance(given, list):
        return Unreadable("`beliefs` is no list")
    updates = []
    for item in given[:MOST_ITEMS]:
        update = _update(item, last)
        if isinstance(update, Unreadable):
            return update
        updates.append(update)
    return tuple(updates)


def _update(item: Json, last: int) -> Update | Unreadable:
    if not isinstance(item, dict):
        return Unreadable("a belief is no object")
    subject, value, seen = _text(item, "subject"), _text(item, "value"), item.get("seen")
    if isinstance(subject, Unreadable) or isinstance(value, Unreadable) or not (subject or "").strip():
        return Unreadable("a belief has no subject or its value is no text")
    if seen is not None and (isinstance(seen, bool) or not isinstance(seen, int)):
        return Unreadable("`seen` is no whole number")
    known = seen if seen is not None and 0 <= seen <= last else last
    return Update(subject=(subject or "").strip()[:MOST_WORDS], value=(value or "").strip()[:MOST_WORDS], seen=known)


def _text(item: Mapping[str, Json], key: str) -> str | Unreadable | None:
    value = item.get(key)
    if value is not None and not isinstance(value, str):
        return Unreadable(f"`{key}` is no text")
    if value is not None and is_half(value):
        return Unreadable("it holds half a character")
    return value
