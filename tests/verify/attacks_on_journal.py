"""The journal and HEAD: edited, cut, put back."""

from __future__ import annotations

import json

from tests.reseal import spell
from tests.studies import ID
from tests.verify.hands import Says, Study, attack

LINES_ROW = "journal: entry edited, middle entry deleted, duplicate key, NaN, `1.0` for 1, half a line"
TAIL_ROW = "journal: last entries dropped with newline kept, older copy put back, missing, empty"
OLDER_ROW = "journal older copy with its older HEAD"
REWRITTEN_ROW = "everything rewritten consistently"
MIDDLE = 9


@attack(LINES_ROW, says=[f"journal.jsonl entry {MIDDLE + 1}", "that entry was edited"])
def an_entry_is_edited(study: Study) -> None:
    lines = study.lines()
    entry = json.loads(lines[MIDDLE])
    entry["time"] = "2020-01-01T00:00:00Z"
    lines[MIDDLE] = spell(entry)
    study.put_lines(lines)


@attack(LINES_ROW, says=["is not the entry that HEAD names: one of them was edited"])
def the_last_entry_is_edited(study: Study) -> Says:
    lines = study.lines()
    entry = json.loads(lines[-1])
    entry["event"]["results"] = "sha256:" + "0" * 64
    study.put_lines([*lines[:-1], spell(entry)])
    return [f"journal.jsonl entry {len(lines) - 1}"]


@attack(LINES_ROW, says=[f"journal.jsonl entry {MIDDLE}", f"found entry number {MIDDLE + 1}, due {MIDDLE}"])
def a_middle_entry_is_deleted(study: Study) -> None:
    lines = study.lines()
    study.put_lines(lines[:MIDDLE] + lines[MIDDLE + 1 :])


@attack(LINES_ROW, says=[f"journal.jsonl entry {MIDDLE + 1}", f"found entry number {MIDDLE}, due {MIDDLE + 1}"])
def an_entry_is_doubled(study: Study) -> None:
    lines = study.lines()
    study.put_lines(lines[: MIDDLE + 1] + lines[MIDDLE:])


@attack(LINES_ROW, says=[f"journal.jsonl entry {MIDDLE}", f"found entry number {MIDDLE + 1}, due {MIDDLE}"])
def two_entries_change_places(study: Study) -> None:
    lines = study.lines()
    lines[MIDDLE], lines[MIDDLE + 1] = lines[MIDDLE + 1], lines[MIDDLE]
    study.put_lines(lines)


def _respell(study: Study, old: bytes, new: bytes) -> None:
    lines = study.lines()
    assert old in lines[MIDDLE]
    lines[MIDDLE] = lines[MIDDLE].replace(old, new, 1)
    study.put_lines(lines)


@attack(LINES_ROW, says=[f"journal.jsonl entry {MIDDLE}", "not the canonical spelling"])
def a_key_is_there_twice(study: Study) -> None:
    _respell(study, b'"attempt":1', b'"attempt":1,"attempt":1')


@attack(LINES_ROW, says=[f"journal.jsonl entry {MIDDLE}", "invalid character"])
def a_number_is_nan(study: Study) -> None:
    _respell(study, b'"attempt":1', b'"attempt":NaN')


@attack(LINES_ROW, says=[f"journal.jsonl entry {MIDDLE}", "got `float`"])
def one_is_spelled_with_a_point(study: Study) -> None:
    _respell(study, b'"attempt":1', b'"attempt":1.0')


@attack(LINES_ROW, says=[f"journal.jsonl entry {MIDDLE}", "not the canonical spelling"])
def a_space_is_added(study: Study) -> None:
    _respell(study, b'"attempt":1', b'"attempt": 1')


@attack(LINES_ROW, says=[f"journal.jsonl entry {MIDDLE}", "unknown field"])
def a_field_is_added(study: Study) -> None:
    _respell(study, b'"attempt":1', b'"again":1,"attempt":1')


@attack(LINES_ROW, says=[f"journal.jsonl entry {MIDDLE}"])
def a_line_is_cut_in_half(study: Study) -> None:
    lines = study.lines()
    lines[MIDDLE] = lines[MIDDLE][: len(lines[MIDDLE]) // 2]
    study.put_lines(lines)


@attack(LINES_ROW, says=["journal.jsonl", "HEAD counts"])
def the_last_line_is_cut_in_half(study: Study) -> None:
    data = study.journal.read_bytes()
    study.journal.write_bytes(data[:-40])


@attack(LINES_ROW, says=["journal.jsonl", "a torn tail: 25 bytes behind the last whole line, at byte"])
def half_a_line_is_added(study: Study) -> Says:
    size = study.journal.stat().st_size
    study.journal.write_bytes(study.journal.read_bytes() + b'{"event":{"kind":"looked"')
    return [f"at byte {size}"]


# --- the tail ------------------------------------------------------------------------------------


@attack(TAIL_ROW, says=["journal.jsonl", "HEAD counts", "the last were dropped or cut"])
def the_last_two_entries_are_dropped(study: Study) -> None:
    study.put_lines(study.lines()[:-2])


@attack(TAIL_ROW, says=["journal.jsonl", "HEAD counts", "the last were dropped or cut"])
def an_older_journal_is_put_back(study: Study) -> Says:
    closed = study.numbers("closed")[0]
    count = len(study.lines())
    study.put_lines(study.lines()[:closed])
    return [f"holds {closed} entries, but HEAD counts {count}"]


@attack(TAIL_ROW, says=["HEAD", "an older HEAD was put back"])
def an_older_head_is_put_back(study: Study) -> None:
    count = len(study.lines())
    lines, entries = study.lines(), study.entries()
    study.rewrite(entries[: count - 4])
    study.put_lines(lines)


@attack(TAIL_ROW, says=["journal.jsonl", "there is no journal"])
def the_journal_is_gone(study: Study) -> None:
    study.journal.unlink()


@attack(TAIL_ROW, says=["journal.jsonl", "holds 0 entries, but HEAD counts"])
def the_journal_is_empty(study: Study) -> None:
    study.journal.write_bytes(b"")


@attack(TAIL_ROW, says=["journal.jsonl", "the journal is empty"])
def the_journal_is_empty_and_head_gone(study: Study) -> None:
    study.journal.write_bytes(b"")
    study.episodes.write_bytes(b"")
    study.head.unlink()


@attack(TAIL_ROW, says=["HEAD", "there is no HEAD"])
def head_is_gone(study: Study) -> None:
    study.head.unlink()


@attack(TAIL_ROW, says=["HEAD", "found no newline at its end"])
def head_is_empty(study: Study) -> None:
    study.head.write_bytes(b"")


@attack(TAIL_ROW, says=["journal.jsonl", "there is no journal"])
def the_receipts_are_gone(study: Study) -> None:
    for path in study.receipts.iterdir():
        path.unlink()
    study.receipts.rmdir()


# --- an older copy of everything, held only from outside ------------------------------------------


def older_copy(study: Study) -> str:
    """Journal, HEAD and episodes as they were before the end; the head that they had then lost."""
    before = study.head_of(len(study.lines()))
    half = study.numbers("episode")[3] + 1
    study.rewrite(study.entries()[:half], study.episode_lines()[:4])
    return before


@attack(OLDER_ROW, says=["evidence", "episodes.jsonl", "that no entry of the journal knows", "an episode of arm="])
def an_older_journal_and_head_but_later_episodes(study: Study) -> None:
    lines = study.episode_lines()
    older_copy(study)
    study.episodes.write_bytes(b"".join(line + b"\n" for line in lines))


@attack(OLDER_ROW, says=["CHANGELOG_AFTER_SEAL.md:1 quotes", "but the journal holds", "an older copy was put back"])
def an_older_copy_where_the_changelog_quotes_a_later_head(study: Study) -> None:
    before = older_copy(study)
    study.changelog.write_text(f"head {ID} {before}\n", encoding="utf-8")


@attack(REWRITTEN_ROW, says=["CHANGELOG_AFTER_SEAL.md:1 quotes", "the journal was written anew"])
def a_rewritten_journal_where_the_changelog_quotes_the_old_head(study: Study) -> None:
    before = study.head_of(len(study.lines()))
    rewritten(study)
    study.changelog.write_text(f"head {ID} {before}\n", encoding="utf-8")


def rewritten(study: Study) -> None:
    """The whole journal under other times: nothing inside the folder can tell."""
    study.rewrite([{**entry, "time": "2021-01-01T00:00:00Z"} for entry in study.entries()])


# --- chained anew, with what no sealkit writes ------------------------------------------------------


@attack(REWRITTEN_ROW, says=["evidence: admission of arms that the plan lacks", "ghost", "no run writes this"])
def an_arm_that_the_plan_lacks_is_admitted(study: Study) -> None:
    entries = study.entries()
    [number] = study.numbers("admitted")
    arms = entries[number]["event"]["arms"]
    arms["ghost"] = next(iter(arms.values()))
    study.rewrite(entries)


@attack(REWRITTEN_ROW, says=["evidence: the body", "is withheld, which no call before has"])
def a_body_that_no_call_has_is_withheld(study: Study) -> None:
    event = {"kind": "withheld", "digest": "sha256:" + "0" * 64, "reason": "a reason"}
    study.rewrite([*study.entries(), {**study.entries()[-1], "event": event}])


@attack(REWRITTEN_ROW, says=["evidence: found sealed, which begins a journal and stands nowhere else"])
def the_plan_is_sealed_twice(study: Study) -> None:
    study.rewrite([*study.entries(), study.entries()[0]])
