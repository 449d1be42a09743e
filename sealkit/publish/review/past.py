"""What a journal says of a study beside its slots: its analysis, its editions, how tries failed, a pause that lasts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sealkit.agents.models.errors import NO_ENDPOINT
from sealkit.files import to_type
from sealkit.run.in_a_row import ERRORS_IN_A_ROW
from sealkit.seal.guard import DRIFT
from sealkit.seal.history import spell_slot
from sealkit.wire.chain import Entry
from sealkit.wire.digest import short
from sealkit.wire.events import (
    Amended,
    Analysed,
    Closed,
    EpisodeKept,
    Failed,
    Opened,
    Paused,
    Published,
    Withdrawn,
    Withheld,
)


@dataclass(slots=True)
class Past:
    """What the entries followed so far come to; a shard's pauses are its own journal's."""

    analysed: str | None = None
    edition: str | None = None
    overtaken: dict[str, str] = field(default_factory=dict)  # edition → what came after it
    pause: Paused | None = None
    paused_at: str = ""
    failed: dict[str, Counter[str]] = field(default_factory=dict)  # tries, by stage and arm
    last: dict[str, str] = field(default_factory=dict)  # how the last of them failed, by stage
    smoke: int = 0  # episodes of smoke runs, those before an amendment too

    def follow(self, entry: Entry) -> None:
        """Take one more entry into account."""
        event = entry.event
        if isinstance(event, EpisodeKept):
            self.smoke += event.stage == "smoke"
        elif isinstance(event, Failed):
            self.failed.setdefault(event.stage, Counter())[str(event.slot["arm"])] += 1
            self.last[event.stage] = f"{spell_slot(event.slot)}: {event.ending}: {event.why}"
        elif isinstance(event, Paused) and entry.shard is None:
            self.pause, self.paused_at = event, entry.time
        elif isinstance(event, (Opened, Closed)) and entry.shard is None:
            self.pause = None
        elif isinstance(event, Analysed):
            self.edition = self.edition if self.analysed == event.results else None
            self.analysed = event.results
        elif isinstance(event, Published):
            self.edition = event.edition
        elif isinstance(event, (Amended, Withdrawn, Withheld)):
            self._overtake(event)

    def _overtake(self, event: Amended | Withdrawn | Withheld) -> None:
        """What was analysed and published before this is not what the study says now."""
        if self.edition is not None:
            self.overtaken[self.edition] = (
                f"amendment {event.number}" if isinstance(event, Amended)
                else "a withdrawal" if isinstance(event, Withdrawn) else "a body was withheld"
            )  # fmt: skip
        self.analysed = self.edition = None
        if isinstance(event, Amended):
            self.pause = None

    def facts(self) -> Iterator[str]:
        """A line for each, to be printed; nothing of an outcome."""
        for stage, counts in self.failed.items():
            where = "" if stage == "confirmatory" else f" of the {stage} run"
            each = ", ".join(f"{arm} {count}" for arm, count in counts.items())
            yield f"failed tries{where}: {each}; the last: {self.last[stage]}"
        if self.pause is not None:
            yield f"paused {self.paused_at}, and no slot given up: {self.pause.reason}: {self.pause.detail}"
        if self.analysed is not None:
            yield f"analysed, results {short(self.analysed)}"
        for edition, after in self.overtaken.items():
            if edition != self.edition:
                yield f"edition {edition} in publications/{edition} was published before {after}"
        if self.edition is not None:
            yield f"published, edition {self.edition} in publications/{self.edition}"


def way_on(reason: str, path: Path, again: str) -> str:
    """What ends a pause for this reason: what to mend, and what to type, which is `again`."""
    if reason == "budget":
        amend = to_type("amend", path, "--reason", "…")
        fewer = f"if some of it is left, {again} --concurrency 1, which sets less aside at once"
        return f"raise sample.budget in the plan, and {amend}; or, {fewer}"
    if reason == "model_drift":
        return f"serve the planned model as planned, then {again}; docs/models.md names the other ways on"
    if reason == "authentication":
        return f"set the key of the endpoint in the environment, then {again}"
    if reason == NO_ENDPOINT:
        return f"start the server, or mend the address (most end in /v1), then {again}"
    if reason == DRIFT:
        return f"see that every sealed file is as it was sealed, then {again}"
    if reason == ERRORS_IN_A_ROW:
        return f"mend what failed, then {again}"
    return again


__all__ = ["Past", "way_on"]
