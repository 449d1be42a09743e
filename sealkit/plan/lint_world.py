"""Cross-checks of the world: who measures, what evidence it can offer, which verifiers can read that.

witnessed   a world that sealkit runs: roots, deltas and receipts, which can be run again
traced      the same episodes, in a plan that asks of them no more than the chained acts
recorded    an external world: what a program of somebody's own says of each slot, which cannot be run again
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sealkit.plan.actors import ExternalArm, ExternalWorld, models_of
from sealkit.plan.problems import KeyPath, Problem
from sealkit.plan.schema import Spec

RECORDED: Final = "recorded"
NOT_REPLAYABLE: Final = "recorded, not replayable"
WITNESS: Final = "witness"  # sealkit's verifier of roots, deltas and receipts
_FOR_EPISODES = ("replay", "witness")


def level_in_words(evidence: str) -> str:
    """An evidence level as reports say it, so that nobody takes a record for more than it is.

    >>> level_in_words("witnessed"), level_in_words("recorded")
    ('witnessed', 'recorded, not replayable')
    """
    return NOT_REPLAYABLE if evidence == RECORDED else evidence


def world_problems(spec: Spec) -> Iterator[Problem]:
    """What of the plan does not fit its world."""
    if isinstance(spec.world, ExternalWorld):
        yield from _external(spec)
        yield from _external_arms(spec)
    else:
        yield from _reference(spec)


def _reference(spec: Spec) -> Iterator[Problem]:
    if spec.judge is None:
        yield Problem(("judge",), "no judge measures the episodes", "name one, such as worlds/house/judge")
    if spec.evidence == "witnessed" and WITNESS not in spec.verifiers:
        there = ", ".join(spec.verifiers) or "none"
        what = f"evidence that is witnessed is ruled on by the verifier {WITNESS}; there are {there}"
        remedy = f"add {WITNESS} (your own may stand beside it), or write evidence: traced"
        yield Problem(("verifiers",), what, remedy)
    if spec.evidence == RECORDED:
        what = "a world that sealkit runs leaves more than a record of what somebody said"
        yield Problem(("evidence",), what, "write evidence: witnessed")
    for place, name in enumerate(spec.verifiers):
        if name == RECORDED:
            what = "the verifier recorded reads what an external world says"
            yield Problem(("verifiers", place), what, "name witness or replay")
    for name, arm in spec.factors.arm.items():
        if isinstance(arm, ExternalArm):
            what = "options alone are for the command of an external world"
            yield Problem(("factors", "arm", name), what, "say what acts: scripted, scaffold, arm or run", at_key=True)


def _external(spec: Spec) -> Iterator[Problem]:
    if spec.judge is not None:
        yield Problem(("judge",), "an external world measures for itself", "write judge: null")
    if spec.evidence != RECORDED:
        what = f"an external world cannot offer evidence that is {spec.evidence}"
        yield Problem(("evidence",), what, "write evidence: recorded")
    for place, name in enumerate(spec.verifiers):
        if name in _FOR_EPISODES:
            what = f"{name} needs receipts and a world to run again, and a record has neither"
            yield Problem(("verifiers", place), what, "name recorded, or a verifier of your own")
    for name, role in spec.models.items():
        for path, model in models_of(role):
            if model.fingerprint is not None:
                what = "no record of an external world has the fingerprints of its replies, so none can be asserted"
                yield Problem(("models", name, *path, "fingerprint"), what, "drop it")
    for name in spec.readings:
        what = "readings are taken of episodes by a judge's rules, and there is no judge"
        yield Problem(("readings", name), what, "let the command measure, and write readings: {}", at_key=True)
    endings = spec.sample.endings
    for name in ("unparsable_reply", "refusal", "cut_off"):
        if getattr(endings, name) == "uses_turn":
            what = "the turns of an external world are its own"
            yield Problem(("sample", "endings", name), what, "write failure or missing")


def _external_arms(spec: Spec) -> Iterator[Problem]:
    for name, arm in spec.factors.arm.items():
        if isinstance(arm, ExternalArm):
            continue
        key = next((key for key in ("scripted", "scaffold", "arm", "run") if hasattr(arm, key)), "")
        path: KeyPath = ("factors", "arm", name, key)
        what = "an external world has no scripted agents" if key == "scripted" else "an external world plays every arm"
        yield Problem(path, what, "give the arm models and options: its command is told them")
