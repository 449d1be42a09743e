"""The evidence policy of this folder: name → (check, view, rule)."""

from __future__ import annotations

from .check import check, rule, view

POLICIES = {"event_log": (check, view, rule)}
