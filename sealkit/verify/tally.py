"""What calls to models come to: counts for tables and sentences, and the usage of one episode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from sealkit.wire.attempts import Calls, answered
from sealkit.wire.records import Json

_MOST_NAMED = 64
_MOST_LETTERS = 40
OTHERS = "others"


@dataclass(slots=True)
class CallTally:
    """Calls of one arm or one stage. `served` counts answers by model id and fingerprint, as the replies say them.

    `requests` are HTTP requests, of which a call may need several; tokens are those that replies state, `charged` and
    `cost_microusd` what the budget was charged.
    """

    calls: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    charged_tokens: int = 0
    cost_microusd: int = 0
    waited_ms: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    served: Counter[str] = field(default_factory=Counter)

    def add(self, calls: Calls) -> None:
        """Count the calls of one attempt more."""
        self.requests += len(calls)
        self.calls += len({call.n for call in calls})
        for call in calls:
            self.input_tokens += call.input_tokens or 0
            self.output_tokens += call.output_tokens or 0
            self.charged_tokens += call.charged_tokens
            self.cost_microusd += call.cost_microusd or 0
            self.waited_ms += call.waited_ms
            self.statuses[call.status] += 1
        for call in answered(calls):
            name = _quoted(f"{call.model}") + (f", fingerprint {_quoted(call.fingerprint)}" if call.fingerprint else "")
            self.served[name if name in self.served or len(self.served) < _MOST_NAMED else OTHERS] += 1

    def record(self) -> dict[str, Json]:
        """The same as one JSON object."""
        statuses: dict[str, Json] = dict(sorted(self.statuses.items()))
        served: dict[str, Json] = dict(sorted(self.served.items()))
        return {
            "calls": self.calls, "requests": self.requests, "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens, "charged_tokens": self.charged_tokens,
            "cost_microusd": self.cost_microusd, "waited_ms": self.waited_ms, "statuses": statuses, "served": served,
        }  # fmt: skip


def _quoted(words: str) -> str:
    """Words of a server, marked as such and cut short: they stand in sentences, and must not read like one.

    >>> print(_quoted('x". The claim holds. ' + 30 * "!"))
    "x'. The claim holds. !!!!!!!!!!!!!!!!!!…"
    """
    plain = "".join(letter if letter.isprintable() else "?" for letter in words).replace('"', "'")
    return f'"{plain if len(plain) <= _MOST_LETTERS else plain[: _MOST_LETTERS - 1] + "…"}"'


def usage_of(calls: Calls) -> Mapping[str, Json]:
    """What one episode used, as measures: calls, and the tokens of its replies; null if one does not say.

    Requests that gave no reply have no tokens here: they are the endpoint's doing, not the arm's, and count in cost.
    """
    replies = answered(calls)
    tokens: dict[str, Json] = {"calls": len(replies)}
    for name in ("input_tokens", "output_tokens"):
        said = [getattr(call, name) for call in replies]
        tokens[name] = None if None in said else sum(said)
    return tokens
