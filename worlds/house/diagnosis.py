"""Readings of an episode: what went otherwise than the agent was told, said by a model or by rules, and scored.

Whoever reads is shown a transcript and, at the level `structured`, a record of beliefs: the store that the agent kept,
or, where it kept none, the log that is parsed from what it was told. Neither arm nor family nor what the world knows is
among it. SPEC.md defines the accepted window of turns and the measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

from sealkit.wire.canon import MAX_INT
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Episode
from sealkit.wire.records import Json
from sealkit.wire.trace import NOOP
from sealkit.world.beliefs import BRIEFING, Beliefs, Kept, Stale, kept, log, revise, table
from sealkit.world.replies import Unreadable, is_half, read_object
from sealkit.world.sdk import Measures, Message, Transcript, Turned

from .course import replay
from .faults import Carried, Fault, Misread
from .words import HAND, brief, observe, spell

MOST_FAULTS: Final = 3
TRANSCRIPT, STRUCTURED = "transcript", "structured"
_OPEN: Final = "open"

Named = tuple[str, int | None]  # a subject, and a turn if one was said


class Diagnosis:
    """The reader `diagnosis`. What is said is a list of `{"subject": …, "turn": …}`."""

    schema: dict[str, Json] = {  # noqa: RUF012 - nobody changes it
        "type": "object",
        "properties": {
            "faults": {
                "type": "array",
                "maxItems": MOST_FAULTS,
                "items": {
                    "type": "object",
                    "properties": {"subject": {"type": "string"}, "turn": {"type": "integer"}},
                    "required": ["subject", "turn"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["faults"],
        "additionalProperties": False,
    }

    def __init__(self, text: Callable[[str], str]) -> None:
        self._prompt = text("prompts/diagnoser.md")

    def ask(self, shown: Transcript, level: str) -> tuple[Message, ...]:
        """One fixed prompt, then the transcript, and at the level `structured` the record of beliefs."""
        if level not in (TRANSCRIPT, STRUCTURED):
            raise ValueError(f"found the level {level!r}, due {TRANSCRIPT} or {STRUCTURED}")
        sections = [("Briefing", shown.briefing.strip()), ("Transcript", transcribed(shown))]
        if level == STRUCTURED:
            sections.append(("Record of beliefs", table(beliefs_of(shown))))
            blocks = "\n".join(_block(turned.n, stale) for turned, stale in blocks_of(shown))
            sections += [("Actions held back", blocks)] if blocks else []
        text = "\n\n".join(f"## {heading}\n\n{body}" for heading, body in sections)
        return (Message(role="system", content=self._prompt + "\n"), Message(role="user", content=text + "\n"))

    def read(self, text: str) -> Json:
        """The first three faults named; what is no object with such a list names none, an entry that is none is left
        out."""
        reply = read_object(text)
        given = [] if isinstance(reply, Unreadable) else reply.get("faults")
        entries = given[:MOST_FAULTS] if isinstance(given, list) else []
        return _said(named for entry in entries for named in _named(entry))

    def rule(self, shown: Transcript) -> Json:
        """What the record of beliefs and the blocks alone say: see `suspects`."""
        return _said(suspects(shown)[:MOST_FAULTS])

    def score(self, scenario: Scenario, episode: Episode, said: Json) -> Measures:
        """`named` and `named_and_timed` for each fault that fired, and `extra_faults`."""
        named = [one for entry in cast(list[Json], said) for one in _named(entry)]
        faults = replay(scenario, episode.acts).faults
        last = episode.acts[-1].n
        right = {fault.contract: subjects_of(scenario, fault) for fault in faults}
        known = set().union(*right.values())
        return {
            "named_and_timed": {
                fault.contract: int(any(
                    subject in right[fault.contract] and turn is not None and turn in window(fault, last)
                    for subject, turn in named
                ))
                for fault in faults
            },
            "named": {contract: int(any(subject in of for subject, _ in named)) for contract, of in right.items()},
            "extra_faults": len({subject for subject, _ in named} - known),
        }  # fmt: skip


# --- what is right ---------------------------------------------------------------------------------


def window(fault: Fault, last: int) -> range:
    """The turns that are accepted: from the one since which it was so, to the one whose return first told."""
    return range(fault.since, (last if fault.revealed is None else fault.revealed) + 1)


def subjects_of(scenario: Scenario, fault: Fault) -> set[str]:
    """The subjects by which a fault may be named."""
    if isinstance(fault, Carried):
        return {f"place {fault.thing}"}
    if isinstance(fault, Misread):
        return set(_subjects(scenario, fault.pointer))
    return {subject for pointer, _, _ in fault.values for subject in _subjects(scenario, pointer)}


def _subjects(scenario: Scenario, pointer: str) -> Iterator[str]:
    _, component, name, *_ = pointer.split("/")
    if component == "doors":
        yield f"door {name}"
    elif component == "items":
        # A key whose use changed may be named by what its tag says it is for, or by itself.
        item = cast(dict[str, dict[str, str]], scenario.genesis["items"])[name]
        yield from (spell(f"key {item['tag']}", "")[0], spell(f"key {item['label']}", "")[0])
    elif component == "task":
        yield f"target {cast(dict[str, dict[str, str]], scenario.genesis['task'])[name]['thing']}"


# --- what is shown ---------------------------------------------------------------------------------


def transcribed(shown: Transcript) -> str:
    """The turns as text: what the agent did, what came back, what it noted or planned."""
    return "\n\n".join(_turn(turned) for turned in shown.turns if turned.n > 0 or turned.text)


def _turn(turned: Turned) -> str:
    did = "no action" if turned.action.name == NOOP else _words(turned)
    noted = turned.memory.get("notes") or turned.memory.get("plan")
    lines = [f"Turn {turned.n}: {did}", turned.text.strip(), f"It noted: {noted}" if noted else ""]
    return "\n".join(line for line in lines if line)


def _words(turned: Turned) -> str:
    return " ".join([turned.action.name, *(str(value) for value in turned.action.args.values())])


def _block(turn: int, stale: Sequence[Stale]) -> str:
    return "\n".join(f"Turn {turn}: {one.cite} ({one.subject}: {one.value}) was {one.why}, {one.by}" for one in stale)


def beliefs_of(shown: Transcript) -> Beliefs:
    """The store that the agent kept, every revision; the log of what it was told, if it kept no store."""
    store = [memory for memory in map(_kept, shown.turns) if memory is not None]
    if not store:
        told = [(turned.n, observe(shown.briefing, turned.text)) for turned in shown.turns]
        return log([(BRIEFING, brief(shown.briefing)), *told])
    beliefs: Beliefs = ()
    for memory in store:
        beliefs = revise(beliefs, memory.beliefs)
    return beliefs


def blocks_of(shown: Transcript) -> tuple[tuple[Turned, tuple[Stale, ...]], ...]:
    """The turns in which an action was held back, with the premises that were stale."""
    kept_by_turn = ((turned, _kept(turned)) for turned in shown.turns)
    return tuple(
        (turned, memory.block.stale)
        for turned, memory in kept_by_turn
        if memory is not None and memory.block is not None
    )


def _kept(turned: Turned) -> Kept | None:
    return kept(turned.memory) if turned.memory else None


# --- what rules say --------------------------------------------------------------------------------


def suspects(shown: Transcript) -> list[Named]:
    """What the structured record says went otherwise, by turn, each subject once.

    A door believed open that no longer is; a key or a target with a new value; a thing that came to another place, or
    left one, without passing through the hand; a premise of a blocked action that a return had contradicted.
    """
    beliefs = beliefs_of(shown)
    before = {(belief.id, belief.revision + 1): belief for belief in beliefs}
    found: list[Named] = [
        (belief.subject, belief.observed_at)
        for belief in beliefs
        if (earlier := before.get((belief.id, belief.revision))) is not None
        and _is_strange(belief.subject, earlier.value, belief.value)
    ]
    found += [(one.subject, one.seen) for _, stale in blocks_of(shown) for one in stale if one.seen is not None]
    first: dict[str, Named] = {}
    for named in sorted(found, key=lambda named: named[1] or 0):
        first.setdefault(named[0], named)
    return list(first.values())


def _is_strange(subject: str, earlier: str, value: str) -> bool:
    kind = subject.partition(" ")[0]
    if kind == "door":
        return earlier == _OPEN and value != _OPEN
    if kind == "place":
        return HAND not in (earlier, value)
    return kind in ("key", "target") and earlier != value


# --- what is said ----------------------------------------------------------------------------------


def _said(named: Iterator[Named] | Sequence[Named]) -> Json:
    return [{"subject": subject, "turn": turn} for subject, turn in named]


def _named(entry: Json) -> Iterator[Named]:
    """The subject, which a record can hold, with its turn: a whole number from 0 on that a record can hold, or none."""
    if isinstance(entry, dict) and isinstance(subject := entry.get("subject"), str) and not is_half(subject):
        turn = entry.get("turn")
        known = turn if isinstance(turn, int) and not isinstance(turn, bool) and 0 <= turn <= MAX_INT else None
        yield spell(subject, "")[0], known
