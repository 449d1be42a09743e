"""What the journal's tests share with those of its recovery."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
