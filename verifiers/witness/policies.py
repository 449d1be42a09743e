"""The evidence policies of this folder: name → (check, view, rule). The witness, and the witness without one field."""

from __future__ import annotations

from .ablated import ABLATED
from .check import check
from .seen import rule, view

POLICIES = {"witness": (check, view, rule), **ABLATED}
