"""No key reaches a record by way of what a person types."""

from __future__ import annotations

import os

from sealkit.agents.models.secrets import Watch, key_variables
from sealkit.wire.errors import UsageError


def refuse_keys(data: bytes, *, where: str) -> None:
    """Raise `UsageError`, without quoting it, if `data` holds a key in use or what is written like a common one."""
    keys = (os.environb[name.encode()] for name in key_variables(os.environ))
    if Watch(keys).found_in(data):
        raise UsageError(
            "found what looks like a key, in what would be published",
            where=where,
            remedy="take it out; keys come from the environment alone (docs/models.md)",
        )
