"""The plan, its seal, the manifest and the source archive, edited."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from sealkit.plan.load import open_plan  # an attacker may use sealkit, too
from sealkit.seal.archive import header, read_members
from tests.reseal import digest_line, spell
from tests.studies import ID, PLAN, SMALL, call, ok, plan_text
from tests.verify.hands import Says, Study, attack

PLAN_ROW = "plan edited; plan edited and sealed anew over the old seal; section moved between plans"
SEALED_ROW = "manifest, source archive, amendment file or CHANGELOG_AFTER_SEAL.md edited"


@attack(PLAN_ROW, says=["plans/part.yaml: has changed since its seal: section hypotheses differs"])
def a_prediction_is_softened(study: Study) -> None:
    study.edit(study.plan, "oracle.x == 4", "oracle.x >= 1")


@attack(PLAN_ROW, says=["plans/part.yaml: has changed since its seal: sections effects, methods differ"])
def two_sections_are_edited(study: Study) -> None:
    study.edit(study.plan, "methods: {rate: {kind: wilson", "methods: {rating: {kind: wilson")
    study.edit(study.plan, "method: rate}", "method: rating}", times=9)


@attack(PLAN_ROW, says=["plans/part.yaml: has changed since its seal: comments or layout differ, no section does"])
def a_comment_is_edited(study: Study) -> None:
    study.edit(study.plan, "# The dry run", "# The real run")


@attack(PLAN_ROW, says=["plans/part.yaml: has changed since its seal and is no plan any more"])
def the_plan_is_cut(study: Study) -> None:
    study.plan.write_bytes(study.plan.read_bytes()[:-400])


@attack(PLAN_ROW, says=["plans/part.yaml", "there is no such file"])
def the_plan_is_gone(study: Study) -> None:
    study.plan.unlink()


@attack(PLAN_ROW, says=["journal.jsonl entry 0", "due sealed under pin", "belongs to another seal"])
def the_plan_is_edited_and_sealed_anew(study: Study) -> None:
    study.edit(study.plan, "oracle.x == 4", "oracle.x >= 1")
    _seal_over(study)


@attack(PLAN_ROW, says=["journal.jsonl entry 0", "due sealed under pin", "belongs to another seal"])
def the_same_plan_is_sealed_anew(study: Study) -> None:
    study.edit(study.plan, "# The dry run", "# The other dry run")
    _seal_over(study)


def _seal_over(study: Study) -> None:
    """A new seal in place of the old, with the receipts of the old one."""
    aside = study.folder.parent / "aside"
    for path in (study.seal, study.manifest, study.archive):
        path.unlink()
    study.receipts.rename(aside)
    ok(call("seal", PLAN, cwd=study.folder))
    shutil.rmtree(study.receipts)
    aside.rename(study.receipts)


@attack(PLAN_ROW, says=["plans/part.yaml: has changed since its seal: section hypotheses differs"])
def a_section_comes_from_another_sealed_plan(study: Study) -> None:
    other = _other_plan(study).read_text(encoding="utf-8")
    mine = study.plan.read_text(encoding="utf-8")
    study.plan.write_text(_section(mine, "effects") + _rest(other), encoding="utf-8")


def _other_plan(study: Study) -> Path:
    """A second sealed plan of the study, that predicts something else."""
    text = plan_text(SMALL, id="other").replace("oracle.x == 4", "oracle.x >= 1")
    path = study.folder / "plans" / "other.yaml"
    path.write_text(text, encoding="utf-8")
    ok(call("seal", path, cwd=study.folder))
    return path


def _section(text: str, until: str) -> str:
    return text.partition("\nhypotheses:")[0] + "\n"


def _rest(text: str) -> str:
    return "hypotheses:" + text.partition("\nhypotheses:")[2]


@attack(PLAN_ROW, says=["journal.jsonl entry 0", "due sealed under pin"])
def a_section_and_its_digests_come_from_another_sealed_plan(study: Study) -> None:
    other = _other_plan(study)
    theirs = json.loads(other.with_name("other.seal.json").read_bytes())
    text = study.plan.read_text(encoding="utf-8").replace("oracle.x == 4", "oracle.x >= 1")
    study.plan.write_text(text, encoding="utf-8")
    seal = json.loads(study.seal.read_bytes())
    seal["plan"]["sections"]["hypotheses"] = theirs["plan"]["sections"]["hypotheses"]
    seal["plan"] |= {"file": digest_line(text.encode()), "size": len(text), "canonical": open_plan(study.plan).digest}
    study.seal.write_bytes(spell(seal) + b"\n")
    _put_into_archive(study, seal, "plans/part.yaml", text.encode())


def _put_into_archive(study: Study, seal: dict[str, object], name: str, data: bytes) -> None:
    """The archive holds `data` under `name`, and the seal says so."""
    with study.archive.open("rb") as file:
        members = dict(read_members(file, where="archive")) | {name: data}
    blocks = [header(path, len(data)) + data + bytes(-len(data) % 512) for path, data in sorted(members.items())]
    archive = b"".join(blocks) + bytes(1024)
    study.archive.write_bytes(archive)
    seal["source"] = {"digest": digest_line(archive), "size": len(archive)}
    study.seal.write_bytes(spell(seal) + b"\n")


@attack(PLAN_ROW, says=["journal.jsonl entry 0", "due sealed under pin"])
def the_seal_is_backdated(study: Study) -> None:
    seal = json.loads(study.seal.read_bytes())
    seal["sealed_at"] = "2020-01-01T00:00:00Z"
    study.seal.write_bytes(spell(seal) + b"\n")


@attack(PLAN_ROW, says=["plans/part.seal.json", "not the canonical spelling"])
def the_seal_is_spelled_otherwise(study: Study) -> None:
    study.edit(study.seal, '","', '", "')


@attack(PLAN_ROW, says=["receipts/part: no seal in", "is of a plan 'part'"])
def the_seal_is_gone(study: Study) -> None:
    study.seal.unlink()


# --- manifest, archive ---------------------------------------------------------------------------


@attack(SEALED_ROW, says=["plans/part.manifest.jsonl: has changed since its seal"])
def a_scenario_is_made_easier(study: Study) -> None:
    study.edit(study.manifest, '"max_acts":15', '"max_acts":99')


@attack(SEALED_ROW, says=["plans/part.manifest.jsonl", "has changed since its seal"])
def a_scenario_is_dropped(study: Study) -> None:
    study.manifest.write_bytes(b"".join(study.manifest.read_bytes().splitlines(keepends=True)[:-1]))


@attack(SEALED_ROW, says=["plans/part.manifest.jsonl line 3: seed 1 is out of order or there twice"])
def a_scenario_is_doubled(study: Study) -> None:
    lines = study.manifest.read_bytes().splitlines(keepends=True)
    study.manifest.write_bytes(b"".join([*lines[:2], *lines[1:]]))


@attack(SEALED_ROW, says=["plans/part.manifest.jsonl", "there is no manifest"])
def the_manifest_is_gone(study: Study) -> None:
    study.manifest.unlink()


@attack(SEALED_ROW, says=["plans/part.source.tar", "worlds/house/judge.py has digest", "sealed"])
def the_sealed_judge_is_edited(study: Study) -> None:
    study.edit(study.archive, "def judge(scenario: Scenario", "def judge(Scenario: scenario")


@attack(SEALED_ROW, says=["plans/part.source.tar", "has changed since its seal: found"])
def a_file_is_put_into_the_archive(study: Study) -> None:
    data = study.archive.read_bytes()
    study.archive.write_bytes(data[:-1024] + header("zzz.py", 0) + data[-1024:])


@attack(SEALED_ROW, says=["plans/part.source.tar", "has changed since its seal: found"])
def the_archive_is_cut(study: Study) -> None:
    study.archive.write_bytes(study.archive.read_bytes()[:-5000])


@attack(SEALED_ROW, says=["plans/part.source.tar", "there is no source archive"])
def the_archive_is_gone(study: Study) -> None:
    study.archive.unlink()


@attack(SEALED_ROW, says=["CHANGELOG_AFTER_SEAL.md:3 quotes", "journal.jsonl entry"])
def the_changelog_quotes_another_digest(study: Study) -> Says:
    count = len(study.lines()) - 3
    _, _, digest = study.head_of(count).partition(":")
    edited = digest[:-1] + ("0" if digest[-1] != "0" else "1")
    study.changelog.write_text(f"# After the seal\n\n- `head {ID} {count}:{edited}`\n", encoding="utf-8")
    return [f"entry {count - 1}"]


@attack(SEALED_ROW, says=["CHANGELOG_AFTER_SEAL.md:1", "due N:sha256:"])
def the_changelog_quotes_half_a_digest(study: Study) -> None:
    study.changelog.write_text(f"head {ID} {study.head_of(3)[:-4]}\n", encoding="utf-8")


@attack(PLAN_ROW, says=["plans/part.seal.json: a second seal of a plan 'part', beside that of 'earlier.yaml'"])
def a_second_seal_under_another_name(study: Study) -> None:
    """Sealed elsewhere under the same id, before or after, and kept in case it comes out better."""
    for path in (study.plan, study.seal, study.manifest, study.archive):
        path.with_name(path.name.replace("part", "earlier", 1)).write_bytes(path.read_bytes())


# --- amendments ------------------------------------------------------------------------------------

AMENDMENT = "plans/part.A-0001.json"


def _amended(study: Study) -> Path:
    """The amendment file of a study that was amended once, after its run."""
    with (study.folder / "worlds" / "house" / "SPEC.md").open("a", encoding="utf-8") as file:
        file.write("\nA door is wide.\n")
    ok(call("amend", PLAN, "--reason", "the doors were not described", cwd=study.folder))
    path = study.folder / AMENDMENT
    assert path.is_file()
    return path


@attack(SEALED_ROW, says=["journal.jsonl entry", "amend"])
def an_amendments_reason_is_edited(study: Study) -> None:
    study.edit(_amended(study), "the doors were not described", "the doors were badly described")


@attack(SEALED_ROW, says=[AMENDMENT])
def an_amendment_is_spelled_otherwise(study: Study) -> None:
    study.edit(_amended(study), '","', '", "')


@attack(SEALED_ROW, says=["journal.jsonl entry", "amendment 1 has an entry, but no file beside the plan"])
def an_amendment_is_gone(study: Study) -> None:
    _amended(study).unlink()


@attack(SEALED_ROW, says=["CHANGELOG_AFTER_SEAL.md"])
def an_amendment_is_gone_from_the_changelog(study: Study) -> None:
    _amended(study)
    study.changelog.unlink()


@attack(SEALED_ROW, says=["CHANGELOG_AFTER_SEAL.md"])
def an_amendments_reason_is_edited_in_the_changelog(study: Study) -> None:
    _amended(study)
    study.edit(study.changelog, "the doors were not described", "nothing of note")


@attack(SEALED_ROW, says=["plans/part.A-0001.source.tar"])
def an_amendments_archive_is_cut(study: Study) -> None:
    archive = _amended(study).with_name("part.A-0001.source.tar")
    archive.write_bytes(archive.read_bytes()[:-2000])


@attack(SEALED_ROW, says=["plans/part.A-0001.manifest.jsonl"])
def an_amendments_scenario_is_made_easier(study: Study) -> None:
    study.edit(_amended(study).with_name("part.A-0001.manifest.jsonl"), '"max_acts":15', '"max_acts":99')


@attack(SEALED_ROW, says=["plans/part.A-0002."])
def an_amendment_is_put_there_that_nobody_made(study: Study) -> None:
    path = _amended(study)
    path.with_name("part.A-0002.json").write_bytes(path.read_bytes())
