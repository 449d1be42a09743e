"""What no analysis and no edition proves, whatever its verdicts: said wherever results are shown."""

from __future__ import annotations

from typing import Final

from sealkit.plan.lint_world import NOT_REPLAYABLE, RECORDED

_ALWAYS: Final = (
    "That no unrecorded call or run, and no second sealed plan, came before or beside this one.",
    "That a shard which ran in another copy of the study ran once: one whose record was thrown away leaves no trace.",
    "That nobody opened the files directly before the look that is recorded.",
    "That an external fact was true, or that a model read or understood a notice.",
    "That the host was honest: an owner who lies in contract, roots and receipts alike is not detected.",
    "That the world stands for anything outside it.",
)
_OF_RECORDS: Final = (
    "That anything in a record happened: transcripts, measures and usage are what a program of the study's own said, "
    f"{NOT_REPLAYABLE}."
)


def not_proved(evidence: str) -> tuple[str, ...]:
    """The sentences for a study whose evidence is of this level."""
    return (*_ALWAYS, _OF_RECORDS) if evidence == RECORDED else _ALWAYS
