"""What a plan's digests commit to: the file's bytes, what they say, and each section of it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.plan.load import Plan, open_plan, open_plan_bytes
from sealkit.wire.canon import decode_value
from tests.plan.trees import FILES, ROOT, flow, tree_of

TEXT = FILES["external"].read_text()
PLAN = open_plan_bytes(TEXT.encode(), "plan.yaml")


def opened(text: str) -> Plan:
    return open_plan_bytes(text.encode(), "plan.yaml")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, TEXT.count("\n")), st.sampled_from(["", "# a note", "    "])), max_size=6))
def test_layout_and_comments_count_for_the_file_alone(lines: list[tuple[int, str]]) -> None:
    parts = TEXT.split("\n")
    for index, line in lines:
        parts.insert(index, line)
    text = "\n".join(parts)
    plan = opened(text)
    assert (plan.digest, plan.canonical, plan.sections) == (PLAN.digest, PLAN.canonical, PLAN.sections)
    assert (plan.file_digest == PLAN.file_digest) == (text == TEXT)


@pytest.mark.parametrize("name", FILES)
def test_another_layout_of_the_same_tree_is_the_same_plan(name: str) -> None:
    plan, other = open_plan(FILES[name]), opened(flow(tree_of(name)))
    assert plan.digest == other.digest
    assert plan.spec == other.spec
    assert plan.file_digest != other.file_digest


def test_the_digests_are_over_what_they_say() -> None:
    assert PLAN.file_digest == "sha256:" + hashlib.sha256(TEXT.encode()).hexdigest()
    assert PLAN.digest == "sha256:" + hashlib.sha256(PLAN.canonical).hexdigest()
    parse = decode_value(PLAN.canonical)
    assert isinstance(parse, dict)
    assert parse["type"] == "sealkit/plan/v1"
    assert parse["sample"]["exclusion_cap_per_arm"] == "0.05"  # type: ignore[index, call-overload]
    assert parse["factors"]["seed"] == "0..49"  # type: ignore[index, call-overload]
    assert "read_by" not in json.dumps(parse), "only written keys"
    section = {"type": "sealkit/plan-section/v1", "section": "gates", "value": ["sealed_before_look", "files_verify"]}
    raw = json.dumps(section, sort_keys=True, separators=(",", ":")).encode()
    assert PLAN.sections["gates"] == "sha256:" + hashlib.sha256(raw).hexdigest()
    assert set(PLAN.sections) == set(parse) - {"type", "sealkit"}


@pytest.mark.parametrize(
    ("old", "new", "sections"),
    [
        ("title: Does", "title: So does", {"title"}),
        ("max: 2", "max: 3", {"sample"}),
        ("gain.lower > 0", "gain.lower >  0", {"hypotheses"}),
        ("level: 0.95", "level: 0.9", {"methods"}),
        ("level: 0.95", "level: 0.950", set()),
        ("[sealed_before_look, files_verify]", "[files_verify, sealed_before_look]", {"gates"}),
        ("missing: complete_pairs", 'missing: "complete_pairs"', set()),
    ],
)
def test_a_change_shows_in_its_section_alone(old: str, new: str, sections: set[str]) -> None:
    assert old in TEXT
    plan = opened(TEXT.replace(old, new))
    assert {name for name in plan.sections if plan.sections[name] != PLAN.sections[name]} == sections
    assert (plan.digest == PLAN.digest) == (not sections)


def test_the_order_of_rules_and_arms_counts_and_that_of_other_keys_does_not() -> None:
    text = FILES["dry-run"].read_text()
    rules = text.replace(
        '      supported: "random.x == 0 && random.n == 60"\n      contradicted: "random.x > 0"\n',
        '      contradicted: "random.x > 0"\n      supported: "random.x == 0 && random.n == 60"\n',
    )
    plan = open_plan(FILES["dry-run"])
    assert rules != text
    assert opened(rules).sections["hypotheses"] != plan.sections["hypotheses"]
    arm = "    random: {role: control, scripted: random}\n"
    arms = text.replace(arm, "").replace("  arm:\n", "  arm:\n" + arm)
    assert opened(arms).sections["factors"] != plan.sections["factors"]
    populations = "  noise: {family: [noise]}\n"
    others = text.replace(populations, "").replace("populations:\n", "populations:\n" + populations)
    assert others != text
    assert opened(others).digest == plan.digest


def test_every_process_reads_the_same_plan() -> None:
    code = "import pathlib, sys, sealkit.plan.load as load; print(load.open_plan(pathlib.Path(sys.argv[1])).digest)"
    command = [sys.executable, "-c", code, str(FILES["v1"])]
    env = {"PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT), "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    found = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    assert found == open_plan(FILES["v1"]).digest
