"""An edition's results.json that no run gave: every part that a report can have, in one document.

The analysis is that of the engine on outcomes told to it; claims, gates, amendments and the rest are written here.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import msgspec

from sealkit.plan.load import Plan
from sealkit.plan.slots import Slot
from sealkit.publish.document import EDITION
from sealkit.publish.not_proved import not_proved
from sealkit.publish.planned import planned
from tests.infer.told import EXCLUDED, MISSING, PIN, Outcome, analysed, small

ARMS = ("plus", "minus", "third")
CONTRAST = "{contrast: %s, join: [family, seed], population: %s, method: %s%s}"
MARGIN = ", margin: {kind: noninferiority, value: 0.1, why: less than this nobody notices}"
EFFECTS = {
    "e": CONTRAST % ("plus - minus", "all", "boot", ""),  # (b, c, n) = (9, 3, 32): the seed decides
    "third": CONTRAST % ("third - minus", "all", "tango", MARGIN),
    "steps": (CONTRAST % ("plus - minus", "all", "boot", ""))[:-1] + ", metric: steps}",
    "one": "{of: {arm: plus}, metric: success, population: all, method: wilson}",
    "lost": "{of: {arm: third}, metric: success, population: lost, method: wilson}",
    "more": "{difference: e - third, metric: success, method: boot}",
}
HYPOTHESES = {
    "E": ("success", "e.lower >= 0"),
    "T": ("success", "third.lower > -third.margin"),
    "S": ("steps", "steps.upper < 0"),
    "O": ("", "one.x >= 12 && one.lower > 0.2"),
    "L": ("", "lost.lower > 0"),
    "M": ("success", "more.lower > 0"),
}
STATUSES = (
    "supported", "contradicted", "partly", "not_shown", "not_estimable", "unmeasured", "exploratory", "withheld",
)  # fmt: skip
DIGEST = "sha256:" + "5e" * 32


def outcome(slot: Slot) -> Outcome:
    """b = 9 and c = 3 of 32 pairs of plus and minus; the third arm lost episodes in four ways."""
    place = int(slot["seed"]) + 16 * (slot["family"] == "z") + 32 * (slot["family"] == "lost")
    arm = str(slot["arm"])
    if slot["family"] == "lost":
        return {"plus": MISSING, "minus": EXCLUDED, "third": MISSING}[arm]
    if arm == "third" and place % 5 == 1:
        return (EXCLUDED, EXCLUDED, MISSING, "agent_stopped")[place // 5 % 4]
    success = {"plus": place < 9 or 12 <= place < 20, "minus": 9 <= place < 20, "third": place % 3 > 0}[arm]
    return {"success": int(success), "steps": 4 + place % 5 + (arm == "plus") * (place % 3 - 1)}


@cache
def _plan() -> Plan:
    return small(
        EFFECTS, arms=ARMS, families="[x, z, lost]", seeds=16, hypotheses=HYPOTHESES,
        metrics={"success": "{kind: binary, better: higher, primary: true}", "steps": "{kind: count, better: lower}"},
        populations="{all: {family: [x, z]}, lost: {family: [lost]}}",
        reported="[{test: mcnemar_exact, effects: [e, third], metrics: [success]},"
        " {effects: [e], metrics: [success], split: [family]},"
        " {arms: all, metrics: [success], split: [family], method: wilson}]",
    )  # fmt: skip


@cache
def _analysis() -> bytes:
    return analysed(_plan(), outcome).line


def analysis() -> Any:
    """A fresh copy of the analysis record, episodes under two pins."""
    record = msgspec.json.decode(_analysis())
    record["pins"] = [PIN, DIGEST]
    record["by_pin"] = [
        {"pin": pin, "effects": copy.deepcopy(record["effects"][:2]), "verdicts": copy.deepcopy(record["verdicts"][:2])}
        for pin in (PIN, DIGEST)
    ]
    return record


def claim(status: str, *, stratum: str = "confirmatory", why: str = "", text: str = "") -> dict[str, Any]:
    """A claim with that status."""
    needs = [{"hypothesis": "E", "metric": "success", "due": ["supported", "partly"], "found": "not_shown"},
             {"hypothesis": "L", "metric": None, "due": ["supported"], "found": None}]  # fmt: skip
    return {
        "name": f"it-is-{status.replace('_', '-')}", "text": text or f"In this world the plus arm did better ({status}).",
        "stratum": stratum, "status": status, "needs": needs, "why": why,
        "does_not_show": "that it does so in another world, nor with another model.",
    }  # fmt: skip


def amendment(number: int, *, after: bool, reason: str) -> dict[str, Any]:
    """A row on an amendment before or after the first look."""
    return {
        "number": number, "made_at": f"2026-11-{10 + number}T09:30:00Z",
        "phase": "after_first_look" if after else "after_smoke", "after_look": after, "reason": reason, "pin": DIGEST,
        "changed": "sections hypotheses; ruling code: worlds/house/judge.py" if after else "harness: worlds/house/world.py",
        "unchanged": ["metrics", "sample"] if after else ["hypotheses", "metrics", "analysis", "sample"],
        "effect": "claim it-is-exploratory is exploratory: after the first look, what it stands on changed: hypotheses.E"
        if after else "claims stay as they are", "superseded": 0 if after else 3,
        "protected": ["hypotheses"] if after else [], "ruling": int(after), "harness": int(not after),
    }  # fmt: skip


def synthetic() -> Any:
    """A fresh document with everything in it."""
    record = analysis()
    whys = {"exploratory": "amendment 2, after the first look, changed what it stands on: hypotheses.E",
            "withheld": "more slots are without an outcome than the plan's exclusion cap allows, in arm third"}  # fmt: skip
    strata = {"supported": "instrument", "not_shown": "descriptive"}
    gates = [("sealed_before_look", True, "sealed is entry 0, the first attempt entry 2, the first look entry 310"),
             ("files_verify", False, "the sealed source was not run again")]  # fmt: skip
    return {
        "type": EDITION, "edition": "small-0123456789ab", "plan": planned(_plan().spec), "analysis": record,
        "claims": [claim(one, stratum=strata.get(one, "confirmatory"), why=whys.get(one, "")) for one in STATUSES],
        "gates_not_asked": [{"gate": "forks_isolated", "meaning": "what it decides"}],
        "gates": [{"gate": name, "meaning": "what it decides", "open": is_open, "evidence": why} for name, is_open, why in gates],
        "amendments": [amendment(1, after=False, reason="the parser dropped the last line of a reply"),
                       amendment(2, after=True, reason="hypothesis E had the wrong sign")],
        "after_amendments": {
            "sensitivity": {"effects": copy.deepcopy(record["effects"][:1]), "verdicts": [
                {"hypothesis": "E", "metric": None, "verdict": "supported", "why": ""}]},
            "other_code": [{"pin": DIGEST, "hypothesis": "E", "metric": None, "verdict": "supported"}],
            "differing": [{"source": "first episodes", "hypothesis": "E", "metric": None, "verdict": "not_shown", "other": "supported"},
                          {"source": "code of pin 0123456789ab", "hypothesis": "E", "metric": None, "verdict": "not_shown", "other": "supported"}],
            "earlier": [{"hypothesis": "E0", "metric": "success", "says": "plus does worse", "descriptive": False,
                         "verdict": "contradicted", "now": None, "pin": PIN, "amendment": 2}],
            "generations": [
                {"generation": each, "lost": [], "over_cap": ["third"] if each == 1 else [], "verdicts": [
                    {"hypothesis": "E", "metric": None, "verdict": "supported", "why": ""}]} for each in (1, 2)]},
        "earlier_analyses": [
            {"recorded_at": "2026-11-09T08:00:00Z", "head": f"300:{DIGEST}", "results": DIGEST, "hypothesis": "E",
             "metric": None, "verdict": "contradicted", "now": "not_shown"},
            {"recorded_at": "2026-11-08T08:00:00Z", "head": f"290:{PIN}", "results": PIN, "hypothesis": None,
             "metric": None, "verdict": None, "now": None}],
        "failures": [{"arm": "third", "ending": "harness_error", "tries": 10, "last": "no such file: ask.py"}],
        "withdrawn": {"it-is-withheld": "the world does not stand for what we said it does"},
        "methods": "The plan small was sealed on 2026-11-10 at 08:00 UTC. It was paused 2 times (provider 2).",
        "study": {
            "plan": "small", "title": "Does the plus arm do better?", "question": "In a small world, does it?",
            "confounds": ["World and hypotheses have the same author."], "power": "32 pairs; see `sealkit power`.",
            "evidence": "witnessed", "data_access": "none_collected", "sealed_at": "2026-11-10T08:00:00Z", "sealkit": "0.1.0",
            "pin": PIN, "plan_file": DIGEST, "manifest": DIGEST, "scenarios": 48, "source": DIGEST, "bundle": DIGEST,
            "trees": {"sealkit": DIGEST}, "head": f"311:{DIGEST}", "results": DIGEST, "first_attempt": 2, "first_look": 310,
            "rights": {"model_outputs": "none were used", "humans": "none took part"},
            "environment": "Python 3.11.7, Linux x86_64", "slots": 144, "admitted": 88,
        },
        "does_not_prove": list(not_proved("witnessed")),
    }  # fmt: skip
