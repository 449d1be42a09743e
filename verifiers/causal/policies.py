"""The evidence policies of this folder: name → (check, view, rule). One verifier, run in two ways over one view."""

from __future__ import annotations

from .check import check, check_with_declaration, rule, rule_with_declaration
from .seen import view

POLICIES = {
    "causal": (check, view, rule),
    "causal_declared": (check_with_declaration, view, rule_with_declaration),
}
