"""Why slots have no episode: tries that ended without one, arm by arm, with what the journal says of the last.

failures = Failures()
failures.see(entry)                  # every entry of the journal up to the analysis
failures.record()                    # as `results.json` holds it
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from sealkit.wire.chain import Entry
from sealkit.wire.events import Failed
from sealkit.wire.records import Json

MOST_SAID: Final = 300  # characters of a sentence that a program wrote


@dataclass(slots=True)
class Failures:
    """The failed tries of the confirmatory run by (arm, ending): how many, and the last one's sentence."""

    _found: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)

    def see(self, entry: Entry) -> None:
        """Take one entry into account."""
        event = entry.event
        if isinstance(event, Failed) and event.stage == "confirmatory":
            key = str(event.slot["arm"]), event.ending
            self._found[key] = self._found.get(key, (0, ""))[0] + 1, event.why

    def record(self) -> list[Json]:
        """A row for each arm and ending."""
        return [
            {"arm": arm, "ending": ending, "tries": tries, "last": _cut(why)}
            for (arm, ending), (tries, why) in sorted(self._found.items())
        ]


def _cut(why: str) -> str:
    return why if len(why) <= MOST_SAID else f"{why[:MOST_SAID]}…"
