"""The evidence policies of this folder: name → (check, view, rule)."""

from __future__ import annotations

from .actions import rule as rule_on_actions
from .actions import view as view_of_actions
from .check import check_actions, check_transitions
from .transitions import rule as rule_on_transitions
from .transitions import view as view_of_transitions

POLICIES = {
    "canonical_action": (check_actions, view_of_actions, rule_on_actions),
    "state_transition": (check_transitions, view_of_transitions, rule_on_transitions),
}
