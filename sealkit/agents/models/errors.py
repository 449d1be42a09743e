"""How a call ends that gives no reply.

HarnessError
├── ProviderError   the attempt at the slot failed; the plan says how often it is tried again
├── PauseError      the run stops here and finalises no slot
└── WithheldError   a recorded body was taken out of what is published
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from sealkit.wire.calls import Unanswered
from sealkit.wire.errors import HarnessError

Reason: TypeAlias = Literal["model_drift", "authentication", "no_endpoint", "budget", "interrupted", "drift"]

NO_ENDPOINT: Final = "no_endpoint"


class ProviderError(HarnessError):
    """No reply came of a call, its repetitions included; `word` is the status of its last request."""

    def __init__(self, word: Unanswered, why: str) -> None:
        self.word = word
        self.why = why
        super().__init__(f"{word}: {why}")


class PauseError(HarnessError):
    """What every further call would meet too: nothing leaves this process until somebody has looked."""

    def __init__(self, reason: Reason, why: str, *, remedy: str) -> None:
        self.reason = reason
        self.why = why
        super().__init__(f"{reason}: {why}", remedy=remedy)


class WithheldError(HarnessError):
    """A body that is recorded by its digest only: what rests on it cannot be run again here."""
