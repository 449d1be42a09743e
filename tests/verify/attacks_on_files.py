"""What is no file, no name or no line of ours: links, pipes, paths that lead out, bytes that explode.

Every file that `verify` reads is attacked in every way that fits it. All of these run with little time and memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from tests.reseal import digest_line, spell
from tests.verify.hands import ATTACKS, Attack, Says, Study, attack, spell_slot

ROW = "link, FIFO, `..`, absolute path, casefold twin, 5 MiB line, depth 1,000, lone surrogate, NUL in a name"
MIB = 1 << 20
DEEP = b'{"a":' * 1000 + b"1" + b"}" * 1000
MIDDLE = 9

FILES: dict[str, Callable[[Study], Path]] = {
    "journal": lambda study: study.journal, "head": lambda study: study.head,
    "episodes": lambda study: study.episodes, "plan": lambda study: study.plan, "seal": lambda study: study.seal,
    "manifest": lambda study: study.manifest, "archive": lambda study: study.archive,
}  # fmt: skip
FOLDERS: dict[str, Callable[[Study], Path]] = {
    "receipts/part": lambda study: study.receipts, "receipts": lambda study: study.receipts.parent,
    "plans": lambda study: study.plan.parent,
}  # fmt: skip


def _named(path: Path) -> str:
    """The path as a message names it, from the study's folder on."""
    parts = path.parts
    return "/".join(parts[max(i for i, part in enumerate(parts) if part in ("plans", "receipts")) :])


def _for_each(places: dict[str, Callable[[Study], Path]], name: str, says: Says, does: Callable[[Path], None]) -> None:
    for place, find in places.items():

        def attack_it(study: Study, find: Callable[[Study], Path] = find) -> Says:
            path = find(study)
            does(path)
            return [_named(path)]

        full = f"{name}:{place}"
        ATTACKS[full] = Attack(full, ROW, says, attack_it)


def _link(path: Path) -> None:
    study = next(parent for parent in path.parents if (parent / "worlds").is_dir())
    elsewhere = study.parent / "elsewhere"  # the real thing, outside the study
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _vast(path: Path) -> None:
    os.truncate(path, 8 << 30)  # a hole: no disk is used


_for_each(FILES, "a_link", ["found a link"], _link)
_for_each(FOLDERS, "a_linked_folder", ["found a link"], _link)
_for_each(FILES, "a_pipe", ["found a pipe"], _pipe)
_for_each(FILES, "a_folder", ["found a folder"], _folder)
_for_each(FILES, "eight_gigabytes", [], _vast)


@attack(ROW, says=["found a link", "CHANGELOG_AFTER_SEAL.md"])
def the_changelog_is_a_link(study: Study) -> None:
    study.changelog.symlink_to("/etc/passwd")


@attack(ROW, says=["found a pipe", "CHANGELOG_AFTER_SEAL.md"])
def the_changelog_is_a_pipe(study: Study) -> None:
    os.mkfifo(study.changelog)


@attack(ROW, says=["found a link", "receipts/part/blobs"])
def a_link_out_of_the_receipts(study: Study) -> None:
    (study.receipts / "blobs").symlink_to("/etc")


@attack(ROW, says=["found a pipe", "receipts/part/calls.jsonl"])
def a_pipe_among_the_receipts(study: Study) -> None:
    os.mkfifo(study.receipts / "calls.jsonl")


@attack(ROW, says=["receipts/part/journal.jsonl: Journal.jsonl is there too, the same but for case"])
def a_twin_of_the_journal(study: Study) -> None:
    (study.receipts / "Journal.jsonl").write_bytes(study.journal.read_bytes())


@attack(ROW, says=["plans/part.seal.json: a second seal of a plan 'part', beside that of 'Part.yaml'"])
def a_twin_of_the_seal(study: Study) -> None:
    (study.plan.parent / "Part.seal.json").write_bytes(study.seal.read_bytes())


@attack(ROW, says=["receipts/PART: no seal in"])
def a_twin_of_the_receipts(study: Study) -> None:
    (study.receipts.parent / "PART").mkdir()
    (study.receipts.parent / "PART" / "journal.jsonl").write_bytes(study.journal.read_bytes())


@attack(ROW, says=["receipts", "no seal in", "\\udcff"])
def receipts_whose_name_is_no_text(study: Study) -> None:
    folder = os.fsencode(study.receipts.parent) + b"/\xff"
    os.mkdir(folder)
    Path(os.fsdecode(folder), "journal.jsonl").write_bytes(b"")


@attack(ROW, says=["receipts/part", "\\udced\\udca0\\udc80"])
def a_receipt_whose_name_is_a_surrogate(study: Study) -> None:
    Path(os.fsdecode(os.fsencode(study.receipts) + b"/\xed\xa0\x80")).write_bytes(b"")


@attack(ROW, says=["plans", "\\udcff.seal.json"])
def a_seal_whose_name_is_no_text(study: Study) -> None:
    path = Path(os.fsdecode(os.fsencode(study.plan.parent) + b"/\xff.seal.json"))
    path.write_bytes(study.seal.read_bytes())


# --- lines ---------------------------------------------------------------------------------------


def _line(study: Study, line: bytes) -> None:
    lines = study.lines()
    study.put_lines([*lines[:MIDDLE], line, *lines[MIDDLE + 1 :]])


def _respelled(study: Study, old: bytes, new: bytes) -> bytes:
    line = study.lines()[MIDDLE]
    assert old in line
    return line.replace(old, new, 1)


ENTRY = f"receipts/part/journal.jsonl entry {MIDDLE}"


@attack(ROW, says=[ENTRY, "a line of more than 4194304 bytes"])
def five_megabytes_in_the_journal(study: Study) -> None:
    _line(study, b'"' + b"x" * (5 * MIB) + b'"')


@attack(ROW, says=[ENTRY])
def depth_in_the_journal(study: Study) -> None:
    _line(study, DEEP)


@attack(ROW, says=[ENTRY])
def a_surrogate_in_the_journal(study: Study) -> None:
    _line(study, _respelled(study, b'"family":"', b'"family":"\\ud800'))


@attack(ROW, says=[ENTRY])
def bytes_of_a_surrogate_in_the_journal(study: Study) -> None:
    _line(study, _respelled(study, b'"family":"', b'"family":"\xed\xa0\x80'))


@attack(ROW, says=["journal.jsonl entry", "the plan has no slot", "\\x00\\x1b[31m"])
def controls_in_a_slot_of_the_journal(study: Study) -> None:
    """Chained well: only the plan says that there is no such slot, and the terminal must not obey it."""
    entries = study.entries()
    entries[MIDDLE]["event"]["slot"]["family"] = "\0\x1b[31m\u202e"
    study.rewrite(entries)


def _episode(study: Study, line: bytes) -> str:
    """The third episode is this line, and journal and HEAD fit it; its slot."""
    entries, lines = study.entries(), study.episode_lines()
    kept = entries[study.numbers("episode")[2]]["event"]
    lines[2] = line
    kept |= {"digest": digest_line(line), "bytes": len(line)}
    study.rewrite(entries, lines)
    return spell_slot(kept["slot"])


@attack(ROW, says=["receipts/part/episodes.jsonl", "an episode of 5242882 bytes, due at most 4194304"])
def five_megabytes_of_episode(study: Study) -> Says:
    return [_episode(study, b'"' + b"x" * (5 * MIB) + b'"')]


@attack(ROW, says=["evidence"])
def depth_in_an_episode(study: Study) -> Says:
    return [_episode(study, DEEP)]


@attack(ROW, says=["evidence"])
def brackets_without_end_in_an_episode(study: Study) -> Says:
    return [_episode(study, b"[" * (3 * MIB))]


@attack(ROW, says=["evidence"])
def a_surrogate_in_an_episode(study: Study) -> Says:
    line = study.episode_lines()[2]
    return [_episode(study, line.replace(b'"why":"', b'"why":"\\ud800', 1))]


@attack(ROW, says=["evidence"])
def bytes_that_are_no_text_in_an_episode(study: Study) -> Says:
    line = study.episode_lines()[2]
    return [_episode(study, line.replace(b'"why":"', b'"why":"\xff', 1))]


@attack(ROW, says=["evidence"])
def integers_without_end_in_an_episode(study: Study) -> Says:
    line = study.episode_lines()[2]
    return [_episode(study, line.replace(b'"n":1,', b'"n":' + b"9" * MIB + b",", 1))]


def _put(path: Path, data: bytes) -> None:
    path.write_bytes(data)


for _name, _data in {
    "five_megabytes": b'"' + b"x" * (5 * MIB) + b'"\n', "depth": DEEP + b"\n", "a_surrogate": b'"\\ud800"\n',
    "no_text": b"\xff\xfe\n", "nothing": b"", "no_newline": b"{}", "null": b"null\n",
    "brackets_without_end": b"[" * (3 * MIB) + b"\n",
}.items():  # fmt: skip
    _for_each(
        {name: FILES[name] for name in ("head", "seal", "manifest", "plan", "archive")}, _name, [],
        lambda path, data=_data: _put(path, data),
    )  # fmt: skip


@attack(ROW, says=["plans/part.yaml"])
def depth_in_the_plan(study: Study) -> None:
    study.edit(study.plan, "readings: {}", "readings: " + "{a: " * 1000 + "1" + "}" * 1000)


@attack(ROW, says=["plans/part.yaml"])
def aliases_that_explode_in_the_plan(study: Study) -> None:
    bomb = "".join(f"b{i}: &b{i} [*b{i - 1}, *b{i - 1}]\n" for i in range(1, 60))
    study.edit(study.plan, "sealkit: 1", "sealkit: 1\nb0: &b0 x\n" + bomb)


# --- paths inside records -------------------------------------------------------------------------


def _in_seal(study: Study, edit: Callable[[dict[str, object]], object]) -> None:
    seal = json.loads(study.seal.read_bytes())
    edit(seal)
    study.seal.write_bytes(spell(seal) + b"\n")


for _name, _path in {
    "dots": "plans/../../part.yaml", "absolute": "/etc/passwd", "nul": "plans/part.yaml\0", "twin": "plans/Part.yaml",
    "control": "plans/\x1b[2J.yaml",
}.items():  # fmt: skip

    def _plan_path(study: Study, path: str = _path) -> None:
        _in_seal(study, lambda seal: seal["plan"].update(path=path))  # type: ignore[attr-defined]

    ATTACKS[f"{_name}_in_the_sealed_path"] = Attack(
        f"{_name}_in_the_sealed_path", ROW, ["plans/part.seal.json", ascii(_path)], _plan_path
    )

for _name, _path in {
    "dots": "../world.py", "absolute": "/etc/passwd", "nul": "world\0.py", "twin": "WORLD.py", "empty": "",
}.items():  # fmt: skip

    def _tree_path(study: Study, path: str = _path) -> None:
        def edit(seal: dict[str, object]) -> None:
            trees = seal["closure"]["trees"]  # type: ignore[index]
            tree = next(tree for tree in trees if tree["path"] == "worlds/house")
            entry = next(entry for entry in tree["entries"] if entry["path"] == "world.py")
            tree["entries"] = sorted([*tree["entries"], {**entry, "path": path}], key=lambda one: one["path"])

        _in_seal(study, edit)

    ATTACKS[f"{_name}_in_a_sealed_tree"] = Attack(
        f"{_name}_in_a_sealed_tree", ROW, ["plans/part.seal.json"], _tree_path
    )
