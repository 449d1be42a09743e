"""Verifying an episode against the floor of its bytes."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.clock import ROOT, cpu_s, medians
from benchmarks.episodes import lines, slots
from benchmarks.row import Row
from benchmarks.sizes import Sizes
from sealkit.wire.episode import Episode
from sealkit.wire.verdict import Accepted
from sealkit.world.loader import Check, load_verifier


def fresh() -> Check:
    """The verifier, fresh from its files: it knows no scenario yet, as when `sealkit verify` starts."""
    return load_verifier(ROOT / "verifiers" / "witness")


def measure(sizes: Sizes) -> Row:
    """Read, parse, re-encode, SHA-256 of each line; against reading it and the whole witness verifier."""
    decoder, encoder = msgspec.json.Decoder(Episode), msgspec.json.Encoder(order="sorted")
    trusted = [trusted for _, trusted in slots(sizes)]
    with TemporaryDirectory() as scratch:
        file = Path(scratch, "episodes.jsonl")
        file.write_bytes(b"".join(line + b"\n" for line in lines(sizes)))

        def floor() -> None:
            with file.open("rb") as episodes:
                for line in episodes:
                    raw = line[:-1]
                    if encoder.encode(decoder.decode(raw)) != raw:
                        raise RuntimeError("an episode has another spelling")
                    hashlib.sha256(raw).hexdigest()

        def verify(check: Check) -> None:
            with file.open("rb") as episodes:
                for slot, line in zip(trusted, episodes, strict=True):
                    verdict = check(slot, line[:-1])
                    if not isinstance(verdict, Accepted):
                        raise RuntimeError(f"{slot.slot}: {verdict}")

        least, full = medians(lambda: cpu_s(floor), lambda: cpu_s(partial(verify, fresh())), repeats=sizes.repeats)
    each, size = 1e6 / len(trusted), sum(map(len, lines(sizes))) / len(trusted) / 1000
    how = f"{full * each:.0f} µs, floor {least * each:.0f} µs, {len(trusted)} episodes of {size:.1f} kB; aim 5"
    return Row("verifying an episode, against its bytes' floor", full / least, "×", 10.0, how)
