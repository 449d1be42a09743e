"""One HTTP request and what came back, as values; how long it may take, and how long to wait before the next.

>>> wait_s(1, None, now=_NOON, draw=1.0), wait_s(4, None, now=_NOON, draw=0.0)
(1.0, 4.0)
>>> wait_s(1, "7", now=_NOON, draw=0.0), wait_s(1, "Mon, 30 Nov 2026 12:00:30 GMT", now=_NOON, draw=0.0)
(7.0, 30.0)
>>> wait_s(1, "86400", now=_NOON, draw=0.0) is None
True
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, Literal, Protocol

from sealkit.agents.models.endpoint import Endpoint
from sealkit.wire.calls import Unanswered

_NOON: Final = datetime(2026, 11, 30, 12, tzinfo=UTC)  # for the examples


@dataclass(frozen=True, slots=True)
class Came:
    """A whole HTTP answer: its status, its `Retry-After` if it has one, and its body."""

    status: int
    retry_after: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """No whole answer: which way it was lost, and a sentence that quotes no header."""

    word: Literal["no_connection", "connection_lost", "timeout", "never_ended", "too_large", "malformed_reply"]
    why: str


class Transport(Protocol):
    """Carries one request."""

    async def post(self, endpoint: Endpoint, body: bytes) -> Came | Lost:
        """Send `body` to the endpoint and read what comes, within bounds."""

    async def close(self) -> None:
        """Give the connections back."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request may take, and how often a call is asked again.

    `read_s` bounds the silence before a byte (an endpoint may be silent until its reply is whole), `total_s` the whole
    request. They are no part of a plan: what they cut short has a status of its own, and the plan says what that means.
    """

    connect_s: float = 10.0
    read_s: float = 300.0
    total_s: float = 600.0
    tries: int = 6
    most_wait_s: float = 600.0


PATIENCE: Final = Patience()
_FIRST_S: Final = 1.0
_LONGEST_S: Final = 60.0


def wait_s(
    tries: int, retry_after: str | None, *, now: datetime, draw: float, most: float = PATIENCE.most_wait_s
) -> float | None:
    """How long to wait after request number `tries`; None if the endpoint wants longer than `most`.

    Exponential with half of it drawn (`draw` in 0..1), so that many calls that were refused together do not come back
    together; never less than the endpoint's own `Retry-After`, in seconds or as a date.
    """
    full = min(_FIRST_S * 2.0 ** (tries - 1), _LONGEST_S)
    told = _told_s(retry_after, now)
    return max(full / 2 + full / 2 * draw, told) if told <= most else None


def _told_s(text: str | None, now: datetime) -> float:
    if text is None:
        return 0.0
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        due = parsedate_to_datetime(text)
        if due.tzinfo is None:
            due = due.replace(tzinfo=UTC)
        return max(0.0, (due - now).total_seconds())
    except Exception:  # the header is anybody's, and the parser says of no error that it is the only one
        return 0.0  # what nobody can read asks for nothing


def http_status_word(status: int) -> Unanswered | None:
    """What an HTTP status other than 200 means; None for 200."""
    if status == 200:
        return None
    if status in (401, 403):
        return "unauthorised"
    if status in (404, 405):
        return "no_endpoint"
    if status == 429:
        return "rate_limited"
    if status >= 500 or status == 408:
        return "server_error"
    if 300 <= status < 400:
        return "redirected"
    return "client_error" if status >= 400 else "malformed_reply"
