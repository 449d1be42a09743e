"""What a report shows of slots without an episode: the words of the flow, and how tries failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sealkit.publish.pages.parts import Row, Table
from sealkit.publish.pages.plain import number, words

# Two words of the flow are easily taken for each other, and name different losses.
FLOW_WORDS: Final = (
    "Missing: no episode was left at the slot, since nobody tried or no try ended with one. "
    "Errored: there is an episode, and a verifier or the judge came to no ruling on it. "
    "Excluded: a verifier rejected the episode.",
    "Failed: tries that ended without an episode. Abandoned: tries that left nothing at all. "
    "No outcome: admitted, and ended in a way that the plan counts as missing.",
)


def failure_tables(rows: Sequence[Row]) -> tuple[Table, ...]:
    """One table, or none where every try left an episode."""
    if not rows:
        return ()
    found = tuple(
        (str(row["arm"]), words(str(row["ending"])), number(row["tries"]), str(row["last"])) for row in rows
    )  # fmt: skip
    caption = "Tries that ended without an episode, and what the journal says of the last of each kind"
    return (Table(caption, ("arm", "ended by", "tries", "the last one"), found, right=(2,)),)
