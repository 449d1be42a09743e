"""Disclosure: what each return shows, against the state and against what contracts say is to be told.

A fact is the state's value at its pointer, but for a declared distortion, which holds for the next reading
only. Notices are matched one to one with occurrences: those waiting in the inbox behind the mark that opens
it, all others at the end of the return, in the order of their receipts.
"""

from __future__ import annotations

from typing import cast

from sealkit.wire.contract import discloses, fill, spell
from sealkit.wire.declared import WhenShown
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Act, Fact, InboxOpened, Notice, Shown
from sealkit.wire.errors import MalformedError
from sealkit.wire.patch import resolve
from sealkit.wire.records import Json, Scalar

from .walk import Occurrence, Walk


def check_return(walk: Walk, act: Act) -> None:
    """Check every segment of one return, and note on each occurrence what disclosed it."""
    run: list[tuple[int, Notice]] = []  # notices that stand together
    due: list[Occurrence] = []  # what is to be told in such a run
    disclosed: list[Occurrence] = []  # by a fact of this return, with a notice to follow
    for i, segment in enumerate(act.segments):
        if isinstance(segment, Notice):
            run.append((i, segment))
            continue
        if run or due:
            _match(walk, act, due, run)
            run, due = [], []
        if isinstance(segment, Fact):
            pointer = segment.pointer
            if pointer in walk.read:
                value = walk.read[pointer]
            else:
                try:
                    value = walk.read[pointer] = resolve(walk.state, pointer)
                except MalformedError as error:
                    walk.faults.add("disclosure", _at(act, i, "pointer"), str(error), "a place in the state")
                    continue
            if walk.latent:
                _check_watched(walk, act, i, segment, value, disclosed)
            else:
                _check_fact(walk, act, i, segment, value)
        elif isinstance(segment, InboxOpened):
            due, walk.letters = walk.letters, []
    closing = disclosed + walk.timed.pop(act.n, [])
    if len(closing) > 1:
        closing.sort(key=lambda item: item.place)
    if run or due or closing:
        _match(walk, act, due + closing, run)


def _at(act: Act, i: int, name: str) -> str:
    return f"acts[{act.n}].segments[{i}].{name}"


# --- facts -----------------------------------------------------------------------------------------


def _check_fact(walk: Walk, act: Act, i: int, fact: Fact, value: Json) -> None:
    shown = fact.value
    if type(shown) is not type(value) or shown != value:
        walk.faults.add("disclosure", _at(act, i, "value"), shown, value)
        walk.misread.add(fact.pointer)
    words = shown if isinstance(shown, str) else spell(shown)
    if words not in fact.text:
        walk.faults.add("disclosure", _at(act, i, "text"), fact.text, f"words with {words!r} in them")
    if fact.pointer in walk.study.counted:
        walk.unseen.append((fact.pointer, type(shown), shown))


def _check_watched(walk: Walk, act: Act, i: int, fact: Fact, value: Json, disclosed: list[Occurrence]) -> None:
    """A fact while readings are waited for: one may be declared to be false, or to disclose what occurred."""
    watching = [item for item in walk.latent if _due(item).pointer == fact.pointer]
    for item in watching:
        if item.declared.contract.tell.distort is not None:
            value = item.declared.contract.tell.distort.reading
            break
    _check_fact(walk, act, i, fact, value)
    for item in watching:
        if _holds(walk, item, fact.value, _at(act, i, "value")):
            _disclose(walk, act, item, fact, disclosed)


def _due(item: Occurrence) -> WhenShown:
    return cast(WhenShown, item.declared.contract.tell.due)


def _holds(walk: Walk, item: Occurrence, reading: Scalar, where: str) -> bool:
    try:
        return discloses(_due(item), _due(item).pointer, reading)
    except MalformedError as error:
        walk.faults.add("disclosure", where, str(error), "a reading that the contract's rule can take")
        return False


def _disclose(walk: Walk, act: Act, item: Occurrence, fact: Fact, disclosed: list[Occurrence]) -> None:
    """The reading discloses the occurrence: by itself, or with a notice at the end of this return."""
    walk.latent.remove(item)
    if item.declared.contract.tell.template is None:
        _told(item, act.n, fact.text)
    else:
        disclosed.append(item)


# --- notices ---------------------------------------------------------------------------------------


def _match(walk: Walk, act: Act, due: list[Occurrence], run: list[tuple[int, Notice]]) -> None:
    """Match a run of notices one to one with what is due to be told there; all of it then counts as told."""
    walk.notices += len(run)
    if [item.declared.contract.id for item in due] == [notice.contract for _, notice in run]:
        for item, (i, notice) in zip(due, run, strict=True):
            _check_notice(walk, act, item, i, notice)
        return
    _mismatch(walk, act, due, run)
    for item in due:
        if item.told is None:
            _told(item, act.n, _words(item))


def _mismatch(walk: Walk, act: Act, due: list[Occurrence], run: list[tuple[int, Notice]]) -> None:
    missing = list(due)
    for i, notice in run:
        item = next((item for item in missing if item.declared.contract.id == notice.contract), None)
        if item is None:
            found = f"a notice of {notice.contract}: {notice.text}"
            walk.faults.add("disclosure", f"acts[{act.n}].segments[{i}]", found, "no such notice here")
        else:
            missing.remove(item)
            _check_notice(walk, act, item, i, notice)
    for item in missing:
        found = f"no notice of {item.declared.contract.id}"
        walk.faults.add("disclosure", f"acts[{act.n}].segments", found, _words(item))
    if len(due) == len(run) and not missing:
        found = ", ".join(notice.contract for _, notice in run)
        walk.faults.add("disclosure", f"acts[{act.n}].segments", found, "the order of the receipts")


def _check_notice(walk: Walk, act: Act, item: Occurrence, i: int, notice: Notice) -> None:
    contract = item.declared.contract
    words = _words(item)
    _told(item, act.n, words)
    if notice.text != words:
        walk.faults.add("disclosure", _at(act, i, "text"), notice.text, words)
    for name, found, due in (
        ("channel", notice.channel, contract.tell.channel),
        ("sender", notice.sender, contract.tell.sender),
        ("rung", notice.rung, contract.authority.rung),
    ):
        if found != due:
            walk.faults.add("authority", _at(act, i, name), found, due)


def _words(item: Occurrence) -> str:
    """What the notice has to say; a contract applied where it could not see has nothing to say."""
    try:
        return fill(item.declared.contract.tell.template or "", item.values)
    except KeyError:
        return ""


def _told(item: Occurrence, n: int, words: str) -> None:
    contract = item.declared.contract
    item.told = Shown(
        channel=contract.tell.channel, sender=contract.tell.sender, authority=contract.authority.rung, act=n,
        digest=digest_bytes(words.encode()),
    )  # fmt: skip
