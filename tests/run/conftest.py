"""What tests of killed runs share, here and on a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.studies import MIDDLE, PLAN, call, make_study, ok


@pytest.fixture(scope="session")
def middle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed study of 150 slots that nobody has run. Copy it before you change it."""
    study = make_study(tmp_path_factory.mktemp("middle") / "study", MIDDLE)
    ok(call("seal", PLAN, cwd=study))
    return study
