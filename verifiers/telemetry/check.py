"""Telemetry: both projections, each ruling on its own view. The verifier rejects what either rejects. See SPEC.md."""

from __future__ import annotations

from sealkit.wire.episode import Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.verdict import Accepted, Verdict

from .actions import rule as rule_on_actions
from .actions import view as view_of_actions
from .faults import verdict_of
from .transitions import rule as rule_on_transitions
from .transitions import view as view_of_transitions


def check(trusted: Trusted, episode: bytes) -> Verdict:
    """Rejected by the first of the two that rejects."""
    verdict = check_actions(trusted, episode)
    return check_transitions(trusted, episode) if isinstance(verdict, Accepted) else verdict


def check_actions(trusted: Trusted, episode: bytes) -> Verdict:
    """The verdict on canonical actions alone."""
    try:
        seen = view_of_actions(episode)
    except MalformedError as error:
        return verdict_of([("evidence", "episode", str(error), "one canonical line of sealkit/episode/v1")])
    return rule_on_actions(trusted, seen)


def check_transitions(trusted: Trusted, episode: bytes) -> Verdict:
    """The verdict on state transitions alone."""
    try:
        seen = view_of_transitions(episode)
    except MalformedError as error:
        return verdict_of([("evidence", "episode", str(error), "one canonical line of sealkit/episode/v1")])
    return rule_on_transitions(trusted, seen)
