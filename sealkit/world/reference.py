"""Where the reference worlds, verifiers and plans stand: in a wheel under `sealkit/reference`, else the checkout."""

from __future__ import annotations

from pathlib import Path

import sealkit
from sealkit.wire.errors import HarnessError


def reference_root() -> Path:
    """The folder that holds the reference `worlds/`, `verifiers/` and `plans/`."""
    package = Path(sealkit.__file__).parent
    for root in (package / "reference", package.parent):
        if (root / "verifiers" / "witness" / "check.py").is_file():
            return root
    raise HarnessError(
        "the reference worlds and verifiers are not beside this installation", remedy="install sealkit again"
    )
