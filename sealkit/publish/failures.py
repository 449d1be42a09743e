"""Why slots have no episode: tries that ended without one, arm by arm, with what the journal says of the last.

failures = Failures()
failures.see(entry)                  # every entry of the journal up to the analysis
failures.record()                    # as `results.json` holds it
failure_tables(rows)                 # as the report shows it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sealkit.publish.parts import Row, Table
from sealkit.publish.plain import number, words
from sealkit.wire.chain import Entry, Failed
from sealkit.wire.records import Json

MOST_SAID: Final = 300  # characters of a sentence that a program wrote
# Two words of the flow are easily taken for each other, and name different losses.
FLOW_WORDS: Final = (
    "Missing: no episode was left at the slot, since nobody tried or no try ended with one. "
    "Errored: there is an episode, and a verifier or the judge came to no ruling on it. "
    "Excluded: a verifier rejected the episode.",
    "Failed: tries that ended without an episode. Abandoned: tries that left nothing at all. "
    "No outcome: admitted, and ended in a way that the plan counts as missing.",
)


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


def failure_tables(rows: Sequence[Row]) -> tuple[Table, ...]:
    """One table, or none where every try left an episode."""
    if not rows:
        return ()
    found = tuple(
        (str(row["arm"]), words(str(row["ending"])), number(row["tries"]), str(row["last"])) for row in rows
    )  # fmt: skip
    caption = "Tries that ended without an episode, and what the journal says of the last of each kind"
    return (Table(caption, ("arm", "ended by", "tries", "the last one"), found, right=(2,)),)
