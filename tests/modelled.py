"""Studies whose arms ask models: parts of v1, sealed and run by the command line against a real server on loopback.

study = make_study(folder)                        # plans/part.yaml: arms A and D, one family, two seeds
with Loopback(POLICIES["graded"]) as server:
    call("run", PLAN, "--endpoint", server.url, cwd=study)
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sealkit.cli.init import make_study as init_study
from tests.loopback.house_policies import POLICIES

ROOT = Path(__file__).parents[1]
PLAN = "plans/part.yaml"
ID = "part"
policy = POLICIES["graded"]

_section = re.compile(r"^([a-z_]+):.*\n(?:(?![a-z_]+:).*\n)*", re.MULTILINE)


def plan_text(
    *, arms: str = "AD", families: tuple[str, ...] = ("stale_door",), seeds: int = 2, budget: str = "", more: str = ""
) -> str:
    """plans/v1.yaml cut down to arms, families and seeds from 0 on, with success and usage as its metrics."""
    text = (ROOT / "plans" / "v1.yaml").read_text(encoding="utf-8")
    declared = dict(re.findall(r"^    ([A-D]): (\{.*\})$", text, re.MULTILINE))
    levels = "".join(f"    {arm}: {declared[arm]}\n" for arm in arms)
    price = "{input_microusd: 2000000, output_microusd: 8000000}"
    instead = {
        "id": f"id: {ID}\n",
        "factors": f"factors:\n  arm:\n{levels}  family: [{', '.join(families)}]\n  seed: 0..{seeds - 1}\n{more}",
        "readings": "readings: {}\n",
        "populations": "populations: {everything: {family: all}}\n",
        "metrics": "metrics:\n  success: {kind: binary, better: higher, primary: true}\n"
        "  calls: {kind: count, better: lower}\n  input_tokens: {kind: count, better: lower}\n"
        "  output_tokens: {kind: count, better: lower}\n",
        "methods": "methods:\n  paired: {kind: paired_bootstrap_percentile, level: 0.95, resamples: 200, seed: 0}\n"
        "  mean: {kind: bootstrap_percentile, level: 0.95, resamples: 200, seed: 0}\n",
        "reported_only": "reported_only:\n"
        "  - {arms: all, metrics: [calls, input_tokens, output_tokens], split: null, method: mean}\n",
        "effects": f"effects:\n  main: {{contrast: {arms[-1]} - {arms[0]}, join: [family, seed], "
        "population: everything, method: paired}\n",
        "hypotheses": "hypotheses:\n  H:\n    says: it helps\n    metric: success\n    verdict:\n"
        '      supported: "main.lower > 0"\n      otherwise: not_shown\n',
        "claims": "claims: {}\n",
    }
    text = _section.sub(lambda found: instead.get(found[1], found[0]), text)
    if budget:
        text = re.sub(r"^  budget: .*$", f"  budget: {budget}", text, flags=re.MULTILINE)
    text = re.sub(r"  diagnoser:\n(    .*\n)+", "", text)
    return text.replace("price_per_million_tokens: null", f"price_per_million_tokens: {price}", 1)


def read_plan_text(*, resamples: int = 200) -> str:
    """plans/v1.yaml with two families and two seeds, its readings and all that rests on them kept."""
    text = (ROOT / "plans" / "v1.yaml").read_text(encoding="utf-8")
    for whole, part in (
        ("id: belief-log-v1", f"id: {ID}"),
        (
            "family: [stale_door, wrong_start, delayed_update, noise, unobservable, double_fault]\n  seed: 0..9",
            "family: [noise, double_fault]\n  seed: 0..1",
        ),
        ("{family: [stale_door, wrong_start, delayed_update, unobservable, double_fault]}", "{family: [double_fault]}"),
        ("{family: [stale_door, delayed_update, double_fault]}", "{family: [double_fault]}"),
        ("family: [stale_door], seed: [100]", "family: [noise], seed: [100]"),
        ("resamples: 10000", f"resamples: {resamples}"),
        ("resamples: 10000", f"resamples: {resamples}"),
    ):
        assert whole in text, whole
        text = text.replace(whole, part, 1)
    return text


def make_study(folder: Path, text: str | None = None) -> Path:
    """A study with the reference world and verifiers, and this plan as its only one."""
    init_study(folder)
    for plan in (folder / "plans").glob("*.yaml"):
        plan.unlink()
    (folder / PLAN).write_text(plan_text() if text is None else text, encoding="utf-8")
    return folder


def receipts(study: Path) -> Path:
    return study / "receipts" / ID


def calls(study: Path) -> list[dict[str, Any]]:
    """Every line of calls.jsonl."""
    path = receipts(study) / "calls.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def events(study: Path, *kinds: str) -> list[dict[str, Any]]:
    """The journal's events of these kinds."""
    lines = (receipts(study) / "journal.jsonl").read_bytes().splitlines()
    return [event for event in (json.loads(line)["event"] for line in lines) if not kinds or event["kind"] in kinds]


def episodes(study: Path) -> bytes:
    return (receipts(study) / "episodes.jsonl").read_bytes()
