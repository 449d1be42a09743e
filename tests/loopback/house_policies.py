"""Policies that play the house from what a request says, and from nothing else: no state of their own, no truth.

    reply = POLICIES["graded"](request)       request: the JSON of a chat completion; reply: the text of the message

Each plays in all four arms, which it tells apart by the prompt alone: a section "Your beliefs" is a store. Whether its
acts are enforced it cannot see. What it remembers it writes into its notes, or into its store and plan.

    graded     with notes it heeds nothing; with a store it heeds news of keys, and cites what it rests on: whatever a
               controller holds back, it learns from. D > C > A
    flat       believes whatever it is told, in every arm, and cites nothing: no arm differs
    reversed   believes whatever it is told if it has notes, and nothing if it has a store
    careful    as flat, but looks again before it acts on a door or table that is not as believed, and goes back to its
               deliveries before it says done
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worlds.house.belief import Belief
from worlds.house.plan import DONE, NOTHING, Step, first_steps
from worlds.house.words import HAND, observe

Request = Mapping[str, Any]
Policy = Callable[[Request], str]
NEWS = frozenset({"door", "place", "target", "key"})
LOOK: Step = ("look", "")


@dataclass(frozen=True)
class Way:
    """How an agent deals with what it is told: which kinds of news it heeds, whether it cites, whether it rechecks."""

    heeds: frozenset[str]
    cites: bool = False
    rechecks: bool = False


@dataclass
class Mind:
    """One turn's picture of the house, put together again from the request."""

    belief: Belief
    doubted: dict[str, str] = field(default_factory=dict)  # subject → the value that was read once
    verified: dict[str, bool] = field(default_factory=dict)  # thing delivered → seen in place on a later visit
    last: Step = LOOK

    # --- what is believed, as subjects and values

    def values(self) -> dict[str, str]:
        found = {f"door {door}": value for door, value in self.belief.doors.items()}
        found |= {f"place {label}": place or HAND for label, place in self.belief.places.items()}
        found |= {f"key {thing.removesuffix(' key')}": label for thing, label in self.belief.keys.items()}
        return found | {f"target {thing}": room for thing, room in self.belief.goals.items()}

    def believe(self, subject: str, value: str) -> None:
        kind, _, name = subject.partition(" ")
        belief = self.belief
        if kind == "door" and name in belief.doors:
            belief.doors[name] = value
        elif kind == "place" and name in belief.places:
            belief.places[name] = "" if value == HAND else value
        elif kind == "key":
            belief.keys[f"{name} key"] = value
        elif kind == "target":
            belief.goals[name] = value

    def forget(self, subject: str) -> None:
        """The thing is not where it was believed to be: it is looked for where it came from, then nowhere."""
        label = subject.removeprefix("place ")
        gone, origin = self.belief.places.get(label), self.belief.origins.get(label, "")
        if gone is not None:
            self.belief.places[label] = origin if origin != gone else ""

    # --- taking in a return

    def hear(self, briefing: str, text: str, way: Way) -> bool:
        """Take in the last return; whether something in it is in doubt."""
        self._where(text)
        doubt = False
        for said in observe(briefing, text):
            held = self.values().get(said.subject)
            fits = (held == said.value) == said.holds
            if said.subject.split()[0] not in way.heeds or held is None:
                continue
            if not fits and way.rechecks and said.subject.split()[0] in ("door", "place"):
                value = said.value if said.holds else f"not {said.value}"
                if self.doubted.pop(said.subject, None) != value:
                    self.doubted[said.subject] = value
                    doubt = True
                    continue
            if said.holds:
                self.believe(said.subject, said.value)
            elif not fits:
                self.forget(said.subject)
        for subject, value in re.findall(
            r"\(([a-z]+ [a-z -]+): [a-z ]+\) was contradicted, return \d+ says ([a-z ]+)", text
        ):
            if value.startswith("not "):
                self.forget(subject)
            else:
                self.believe(subject, value)
        return doubt

    def _where(self, text: str) -> None:
        """In which room, and with what in the hand: everybody notes that much."""
        room = re.search(r"^You are in the ([a-z]+)\.$", text, re.MULTILINE)
        if room is None:
            return
        if self.last[0] == "move" and room[1] != self.last[1]:
            self.belief.shut(room[1], self.last[1])
        self.belief.room = room[1]
        name, word = self.last
        for label, goal in self.belief.deliveries():
            if name == "drop" and label == word:
                self.verified[label] = False
            elif name == "move" and label in self.verified and goal == room[1]:
                self.verified[label] = re.search(rf"^On the table here: .*\b{label}\b", text, re.MULTILINE) is not None

    # --- deciding

    def step(self, way: Way) -> Step:
        steps = first_steps(self.belief.situation())
        step = steps[0] if steps else LOOK
        if step == DONE and way.rechecks:
            away = [
                goal for label, goal in self.belief.deliveries()
                if goal != self.belief.room and not self.verified.get(label, False)
            ]  # fmt: skip
            return self.belief.toward(away[0]) if away else DONE
        return step

    def premises(self, step: Step) -> list[str]:
        """The subjects that the step rests on."""
        name, word = step
        things = [thing for thing in self.belief.goals]
        found = [f"target {thing}" for thing in things]
        found += [f"key {thing.removesuffix(' key')}" for thing in things if thing in self.belief.keys]
        if name == "move":
            found += [s for s in (f"door {a}-{b}" for a, b in [sorted((self.belief.room, word))]) if s in self.values()]
        elif name == "pick":
            found.append(f"place {word}")
        elif name == "done":
            found += [f"place {label}" for label, _ in self.belief.deliveries()]
        return found


# --- a request, and a reply ------------------------------------------------------------------------


def sections(request: Request) -> dict[str, str]:
    """The parts of the user message by their headings."""
    parts = re.split(r"^## (.+)\n\n", request["messages"][-1]["content"], flags=re.MULTILINE)[1:]
    return {heading: text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def player(notes: Way, store: Way) -> Policy:
    """The policy that goes one way with notes and another with a store."""

    def reply(request: Request) -> str:
        shown = sections(request)
        if "Your beliefs" in shown:
            return _with_store(shown, store)
        return _with_notes(shown, notes)

    return reply


def _with_notes(shown: Mapping[str, str], way: Way) -> str:
    noted = json.loads(shown["Your notes"]) if shown["Your notes"] != "(none)" else {}
    mind = _mind(shown, noted)
    before = Mind(Belief(shown["Briefing"])).values()
    for subject, value in noted.get("beliefs", {}).items():
        mind.believe(subject, value)
    step = _decided(mind, shown, way)
    told = {subject: value for subject, value in mind.values().items() if before[subject] != value}
    notes = json.dumps({**_memory(mind, step), "beliefs": told}, separators=(",", ":"))
    assert len(notes) <= 600, notes
    return json.dumps({"action": step[0], "argument": step[1], "notes": notes})


def _with_store(shown: Mapping[str, str], way: Way) -> str:
    mind = _mind(shown, json.loads(shown["Your plan"]) if shown["Your plan"] != "(none)" else {})
    rows = [line.split(" | ") for line in shown["Your beliefs"].splitlines() if re.match(r"b\d+\.\d+ \|", line)]
    held = {row[1]: (row[0], row[2]) for row in rows}
    for subject, (_, value) in held.items():
        mind.believe(subject, value)
    seen = max((int(n) for n in re.findall(r"^Return (\d+):$", shown["Last returns"], re.MULTILINE)), default=0)
    step = _decided(mind, shown, way)
    updates, names, free = (
        list[dict[str, str | int]](),
        {subject: name for subject, (name, _) in held.items()},
        len(held),
    )
    for subject, value in mind.values().items():
        if subject.startswith("door") and value == "open" and subject not in {*held, *mind.premises(step)}:
            continue  # an open door is worth a belief once an action rests on it
        if subject not in held:
            free += 1
            names[subject] = f"b{free}.1"
            updates.append({"subject": subject, "value": value, "seen": 0 if seen < 2 else seen})
        elif held[subject][1] != value:
            id, revision = held[subject][0].split(".")
            names[subject] = f"{id}.{int(revision) + 1}"
            updates.append({"subject": subject, "value": value, "seen": seen})
    cites = [names[subject] for subject in mind.premises(step)] if way.cites else []
    plan = json.dumps(_memory(mind, step), separators=(",", ":"))
    assert len(plan) <= 200 and len(updates) <= 12, (plan, updates)
    return json.dumps({"action": step[0], "argument": step[1], "beliefs": updates, "cites": cites, "plan": plan})


def _mind(shown: Mapping[str, str], kept: Mapping[str, Any]) -> Mind:
    mind = Mind(Belief(shown["Briefing"] + "\n"))
    mind.belief.room = kept.get("at", mind.belief.room)
    mind.belief.hand = kept.get("hand", NOTHING)
    mind.last = tuple(kept.get("last", LOOK))
    mind.doubted, mind.verified = dict(kept.get("doubt", {})), dict(kept.get("ok", {}))
    return mind


def _memory(mind: Mind, step: Step) -> dict[str, Any]:
    belief = mind.belief
    found = {"at": belief.room, "last": step, "hand": belief.hand, "doubt": mind.doubted, "ok": mind.verified}
    return {key: value for key, value in found.items() if value not in ({}, NOTHING)}


def _decided(mind: Mind, shown: Mapping[str, str], way: Way) -> Step:
    """The next step, once the last act and its return are taken in."""
    last = re.split(r"^Return \d+:\n", shown["Last returns"], flags=re.MULTILINE)[-1]
    _carried(mind, last)
    return LOOK if mind.hear(shown["Briefing"] + "\n", last, way) else mind.step(way)


def _carried(mind: Mind, last: str) -> None:
    """What the hand holds and where things went, by the agent's own pick or drop."""
    name, word = mind.last
    if name == "pick" and last.startswith("You pick up"):
        mind.belief.hand, mind.belief.places[word] = word, ""
    elif name == "drop" and last.startswith("You put"):
        mind.belief.hand, mind.belief.places[word] = NOTHING, mind.belief.room


# --- the diagnoser ---------------------------------------------------------------------------------


def diagnose(request: Request) -> str:
    """A reader that goes by messages in the transcript, and where there is one by the record of beliefs."""
    shown, faults = sections(request), []
    for turn, text in re.findall(r"^Turn (\d+): (.*?)(?=^Turn |\Z)", shown["Transcript"], re.MULTILINE | re.DOTALL):
        for lock in re.findall(r"the ([a-z]+) key is the", text)[:1]:
            faults.append({"subject": f"key {lock}", "turn": int(turn)})
    for row in (line.split(" | ") for line in shown.get("Record of beliefs", "").splitlines()):
        if re.fullmatch(r"b\d+\.[2-9]", row[0]) and row[1].startswith(("door", "target", "key")) and row[2] != "open":
            faults.append({"subject": row[1], "turn": int(row[4])})
    return json.dumps({"faults": faults[:3]})


def answering(policy: Policy) -> Policy:
    """The policy, and the diagnoser where the request is one for it."""
    return lambda request: diagnose(request) if "Transcript" in sections(request) else policy(request)


TRUSTING = Way(heeds=NEWS)
HEEDLESS = Way(heeds=frozenset())
POLICIES: Mapping[str, Policy] = {
    "graded": answering(player(notes=HEEDLESS, store=Way(heeds=frozenset({"key"}), cites=True))),
    "flat": answering(player(notes=TRUSTING, store=TRUSTING)),
    "reversed": answering(player(notes=TRUSTING, store=HEEDLESS)),
    "careful": answering(player(notes=Way(NEWS, rechecks=True), store=Way(NEWS, rechecks=True))),
}
