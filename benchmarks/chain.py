"""Checking a journal's chain against hashing its bytes."""

from __future__ import annotations

import hashlib

from benchmarks.clock import cpu_s, medians
from benchmarks.journals import chained
from benchmarks.row import Row
from benchmarks.sizes import Sizes
from sealkit.wire.chain import follow
from sealkit.wire.journal_head import EMPTY


def check(lines: tuple[bytes, ...]) -> None:
    head = EMPTY
    for line in lines:
        _, head = follow(head, line)


def hash_all(lines: tuple[bytes, ...]) -> None:
    for line in lines:
        hashlib.sha256(line).hexdigest()


def measure(sizes: Sizes) -> Row:
    """Every entry decoded, re-encoded, compared and followed; against one SHA-256 for each line."""
    lines, _ = chained(sizes.chained)
    floor, full = medians(
        lambda: cpu_s(lambda: hash_all(lines)), lambda: cpu_s(lambda: check(lines)), repeats=sizes.repeats
    )
    each = 1e6 / len(lines)
    how = f"{full * each:.1f} µs an entry, SHA-256 {floor * each:.1f} µs"
    return Row(f"chain check of {len(lines):,} entries, against SHA-256 of the bytes", full / floor, "×", None, how)
