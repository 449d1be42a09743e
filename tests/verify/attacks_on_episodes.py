"""Episodes and receipts: edited, dropped, doubled, moved; with and without a journal made to fit."""

from __future__ import annotations

import json

from tests.reseal import Document, digest_line, seal_record
from tests.verify.hands import Entry, Says, Study, attack, spell_slot

ROW = "episode edited, dropped, doubled, extra for a taken slot; receipt moved to another episode; episode moved to another slot"


def _slots(study: Study) -> list[str]:
    return [spell_slot(json.loads(line)["slot"]) for line in study.episode_lines()]


def _put(study: Study, lines: list[bytes]) -> None:
    study.episodes.write_bytes(b"".join(line + b"\n" for line in lines))


# --- hands that know only the file ---------------------------------------------------------------


@attack(ROW, says=["evidence", "episodes.jsonl"])
def an_episode_is_edited(study: Study) -> Says:
    lines = study.episode_lines()
    lines[2] = lines[2].replace(b'"ended":"final"', b'"ended":"fatal"')
    _put(study, lines)
    return [_slots(study)[2]]


@attack(ROW, says=["evidence", "episodes.jsonl"])
def an_episode_is_dropped(study: Study) -> Says:
    slots = _slots(study)
    _put(study, study.episode_lines()[:2] + study.episode_lines()[3:])
    return [f"episodes.jsonl: {slots[2]}"]


@attack(ROW, says=["evidence", "episodes.jsonl", "found nothing"])
def the_last_episode_is_dropped(study: Study) -> Says:
    slots = _slots(study)
    _put(study, study.episode_lines()[:-1])
    return [slots[-1]]


@attack(ROW, says=["evidence", "episodes.jsonl", "found nothing"])
def all_episodes_are_gone(study: Study) -> Says:
    slots = _slots(study)
    study.episodes.unlink()
    return [slots[0]]


@attack(ROW, says=["evidence", "episodes.jsonl"])
def an_episode_is_doubled(study: Study) -> Says:
    lines, slots = study.episode_lines(), _slots(study)
    _put(study, lines[:3] + lines[2:])
    return [f"episodes.jsonl: {slots[3]}"]


@attack(ROW, says=["evidence", "episodes.jsonl", "that no entry of the journal knows: an episode of"])
def an_extra_episode_for_a_taken_slot(study: Study) -> Says:
    lines = study.episode_lines()
    extra = json.loads(lines[0])
    extra["closing"]["why"] = "a better one"
    _put(study, [*lines, seal_record(extra)])
    return [_slots(study)[0]]


@attack(ROW, says=["evidence", "episodes.jsonl"])
def two_episodes_change_places(study: Study) -> Says:
    lines, slots = study.episode_lines(), _slots(study)
    lines[1], lines[2] = lines[2], lines[1]
    _put(study, lines)
    return [slots[1]]


# --- hands that make record, journal and HEAD fit -------------------------------------------------


@attack(ROW, says=["evidence", "witness"])
def an_ending_is_edited_and_everything_made_to_fit(study: Study) -> Says:
    return [study.swap_episode(2, lambda episode: episode["closing"].update(ended="budget"))]


@attack(ROW, says=["evidence", "witness"])
def an_action_is_edited_and_everything_made_to_fit(study: Study) -> Says:
    return [study.swap_episode(3, lambda episode: episode["acts"][1]["action"].update(name="look"))]


@attack(ROW, says=["evidence", "witness"])
def an_act_is_cut_out_and_everything_made_to_fit(study: Study) -> Says:
    return [study.swap_episode(3, lambda episode: episode["acts"].pop(2))]


@attack(ROW, says=["evidence", "witness"])
def a_receipt_is_moved_to_another_episode(study: Study) -> Says:
    lines = [json.loads(line) for line in study.episode_lines()]
    giver = next(number for number, line in enumerate(lines) if line["receipts"])
    taker = next(number for number, line in enumerate(lines) if line["receipts"] and number != giver)

    def take(episode: Document) -> None:
        episode["receipts"][0] = lines[giver]["receipts"][0]

    return [study.swap_episode(taker, take)]


@attack(ROW, says=["witness"])
def a_receipt_is_taken_away(study: Study) -> Says:
    number = next(number for number, line in enumerate(study.episode_lines()) if json.loads(line)["receipts"])

    def drop(episode: Document) -> None:
        episode["receipts"].clear()
        episode["closing"]["counts"]["occurrences"] = 0

    return [study.swap_episode(number, drop)]


NOISE = [{"arm": arm, "family": "noise", "seed": 0} for arm in ("oracle", "tracker")]


def _exchange(study: Study) -> list[Entry]:
    """The journal's entries, with the slots of two episodes of one scenario exchanged."""
    entries = study.entries()
    for entry in entries:
        if entry["event"].get("slot") in NOISE:
            entry["event"]["slot"] = NOISE[1 - NOISE.index(entry["event"]["slot"])]
    return entries


@attack(ROW, says=["evidence", "witness", *map(spell_slot, NOISE)])
def an_episode_is_moved_to_another_slot(study: Study) -> None:
    """The journal gives each of two slots the episode of the other."""
    study.rewrite(_exchange(study))


@attack(ROW, says=["evidence", "witness", *map(spell_slot, NOISE)])
def an_episode_is_moved_to_another_slot_and_labelled_so(study: Study) -> None:
    """The same, and each episode says that it belongs there."""
    entries, lines = _exchange(study), study.episode_lines()
    kept = [entry["event"] for entry in entries if entry["event"]["kind"] == "episode"]
    for number, event in enumerate(kept):
        if event["slot"] in NOISE:
            lines[number] = seal_record(json.loads(lines[number]) | {"slot": event["slot"]})
            event |= {"digest": digest_line(lines[number]), "bytes": len(lines[number])}
    study.rewrite(entries, lines)


@attack(ROW, says=["evidence", "has an episode already"])
def an_extra_episode_with_an_entry_of_its_own(study: Study) -> Says:
    entries, lines = study.entries(), study.episode_lines()
    [last] = study.numbers("closed")
    first = study.numbers("episode")[0]
    tried = {**entries[first - 1], "event": {**entries[first - 1]["event"], "attempt": 2}}
    again = {**entries[first], "event": {**entries[first]["event"], "attempt": 2}}
    study.rewrite([*entries[:last], tried, again, *entries[last:]], [*lines, lines[0]])
    return [f"journal.jsonl entry {last}"]


@attack(ROW, says=["evidence"])
def an_episode_without_an_attempt(study: Study) -> Says:
    first = study.numbers("attempted")[0]
    study.rewrite(study.entries()[:first] + study.entries()[first + 1 :])
    return [f"journal.jsonl entry {first}"]


@attack(ROW, says=["journal.jsonl entry", "closed"])
def an_unwelcome_episode_and_its_entry_are_taken_away(study: Study) -> Says:
    entries, lines = study.entries(), study.episode_lines()
    gone = study.numbers("episode")[-1]
    study.rewrite([entry for entry in entries if entry["seq"] not in (gone, gone - 1)], lines[:-1])
    return [f"entry {study.numbers('closed')[0]}"]


@attack(ROW, says=["evidence"])
def an_episode_of_no_slot_of_the_plan(study: Study) -> Says:
    entries = study.entries()
    number = study.numbers("episode")[2]
    for entry in entries:
        if entry["event"].get("slot") == study.entries()[number]["event"]["slot"]:
            entry["event"]["slot"] = {**entry["event"]["slot"], "seed": 99}
    study.rewrite(entries)
    return [f"journal.jsonl entry {study.numbers('attempted')[2]}", "'seed': 99"]


@attack(ROW, says=["evidence", "an episode of another pin or of a pilot"])
def an_episode_of_another_pin(study: Study) -> Says:
    entries = study.entries()
    number = study.numbers("episode")[2]
    entries[number]["event"]["pin"] = "sha256:" + "0" * 64
    study.rewrite(entries)
    return [f"journal.jsonl entry {number}"]
