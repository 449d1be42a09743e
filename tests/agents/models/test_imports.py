"""What makes no call does without an HTTP client: it costs more to import than a seal takes."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = "import sys; print(sorted({'httpx', 'httpcore', 'anyio', 'ssl', 'asyncio'} & set(sys.modules)))"


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import sealkit.cli.seal, sealkit.cli.verify, sealkit.cli.check", "[]\n"),
        ("import sealkit.agents.models.recorded, sealkit.wire.calls", "[]\n"),
        ("import sealkit.agents.models.gateway", "['asyncio', 'ssl']\n"),
    ],
)
def test_what_is_loaded(code: str, loaded: str) -> None:
    found = subprocess.run([sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True)
    assert found.stdout == loaded
