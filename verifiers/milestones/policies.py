"""The evidence policy of this folder: name → (check, view, rule)."""

from __future__ import annotations

from .check import check, rule, view

POLICIES = {"milestones": (check, view, rule)}
