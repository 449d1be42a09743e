"""Five criteria of a recommendation, each kept or not, and what went wrong by name: pure. SPEC.md defines each.

Everything is measured against the files as they stood when the recommendation was submitted: what is due at that very
boundary comes after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Act, Action, Episode
from sealkit.wire.patch import apply
from sealkit.wire.records import Json
from sealkit.world.sdk import State

from .editions import reference_of
from .files import SOURCES, oracle, root_of, version_of
from .world import SUBMIT, TOOLS

CRITERIA = ("recommendation_correct", "root_current", "evidence_current", "adapted", "conforms")
LABELS = ("stale_world_state", "missed_world_change", "decision_error", "evidence_gap", "authority_violation")
_NOTHING: frozenset[str] = frozenset()
MEASURES = ("passed", "score", "criteria", *CRITERIA, *LABELS, "acts", "occurrences", "restores")


@dataclass(frozen=True, slots=True)
class Course:
    """An episode replayed: the files as the last act met them, and since which act each stood as it did."""

    files: State
    moved: Mapping[str, int]


def replay(scenario: Scenario, episode: Episode) -> Course:
    """The course of an episode up to its last act. `moved` has only files that an event or a restore changed."""
    state: State = dict(scenario.genesis)
    files = state
    moved: dict[str, int] = {}
    later: dict[str, int] = {}
    for act in episode.acts:
        files = state = cast(State, apply(state, act.delta))
        moved = dict(later)
        for delta in act.deltas:
            state = cast(State, apply(state, delta.ops))
        later |= {source: act.n for source in SOURCES if state[source] != files[source]}
    return Course(files=files, moved=moved)


def judge(scenario: Scenario, episode: Episode) -> dict[str, Json]:
    """The measures of one episode, by the names in `MEASURES`."""
    last = episode.acts[-1].action
    submitted = last.name == SUBMIT
    course = replay(scenario, episode)
    kept = _criteria(course, episode, last) if submitted else dict.fromkeys(CRITERIA, False)
    labels = {
        "stale_world_state": submitted and not kept["root_current"],
        "missed_world_change": submitted and not kept["adapted"],
        "decision_error": submitted and not kept["recommendation_correct"],
        "evidence_gap": submitted and not kept["evidence_current"],
        "authority_violation": submitted and bool(_cited(last) & _without_authority(scenario)),
    }
    criteria = sum(kept.values())
    return {
        "passed": int(criteria == len(CRITERIA)),
        "score": "1" if criteria == len(CRITERIA) else f"0.{2 * criteria}" if criteria else "0",
        "criteria": criteria,
        **{name: int(kept[name]) for name in CRITERIA},
        **{name: int(labels[name]) for name in LABELS},
        "acts": episode.closing.counts.acts,
        "occurrences": episode.closing.counts.occurrences,
        "restores": episode.closing.counts.restores,
    }


def _criteria(course: Course, episode: Episode, last: Action) -> dict[str, bool]:
    current = {f"{source}@{version_of(course.files, source)}" for source in SOURCES}
    return {
        "recommendation_correct": last.args.get("recommendation") == oracle(course.files),
        "root_current": last.args.get("root") == root_of(course.files),
        "evidence_current": _cited(last) == current,
        "adapted": all(_read_since(episode.acts, source, act) for source, act in course.moved.items()),
        "conforms": TOOLS.fits(last),
    }


def _read_since(acts: tuple[Act, ...], source: str, since: int) -> bool:
    """Whether the file was read at an act after `since`."""
    return any(act.action.name == f"{source}.read" and TOOLS.fits(act.action) for act in acts[since + 1 :])


def _cited(last: Action) -> frozenset[str]:
    """What the recommendation cites; nothing, where that is no list of texts."""
    citations = last.args.get("citations")
    return frozenset(item for item in citations if isinstance(item, str)) if isinstance(citations, list) else _NOTHING


def _without_authority(scenario: Scenario) -> frozenset[str]:
    """The messages that bind nobody, by what they are cited by."""
    return frozenset(reference_of(contract) for contract in scenario.contracts if not contract.authority.binding)
