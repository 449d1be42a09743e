"""What no analysis and no edition proves, whatever its verdicts: said wherever results are shown."""

from __future__ import annotations

from typing import Final

DOES_NOT_PROVE: Final = (
    "That no unrecorded call or run, and no second sealed plan, came before or beside this one.",
    "That nobody opened the files directly before the look that is recorded.",
    "That an external fact was true, or that a model read or understood a notice.",
    "That the host was honest: an owner who lies in contract, roots and receipts alike is not detected.",
    "That the world stands for anything outside it.",
)
