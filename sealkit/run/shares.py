"""Which shard runs which slots: whole blocks, dealt in turn in drawn order.

Block number p of the drawn order, from 0, belongs to shard p mod n + 1 of n. So a block stays together, shares differ
by one block at most, and each is spread over the whole of the drawn order. The plan alone decides it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sealkit.plan.schema import Spec
from sealkit.plan.slots import Slot
from sealkit.run.order import drawn_blocks
from sealkit.wire.errors import UsageError
from sealkit.wire.merged import MOST_SHARDS
from sealkit.wire.records import Level

_is_share = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})\Z").match


@dataclass(frozen=True, slots=True)
class Share:
    """Shard `shard` of `of`; `numbers` has the shard of every slot, in plan order."""

    shard: int
    of: int
    numbers: array[int]
    abandoned_before: int  # abandoned tries that a main journal counts already when it takes this shard over

    @property
    def slots(self) -> int:
        """How many slots the shard has."""
        return self.numbers.count(self.shard)

    def count(self, kept: bytes | bytearray) -> int:
        """How many of the shard's slots are set in `kept`."""
        return sum(one for number, one in zip(self.numbers, kept, strict=True) if number == self.shard)


def parse_share(text: str) -> tuple[int, int]:
    """The shard and the number of shards that `i/n` means.

    >>> parse_share("2/3")
    (2, 3)
    """
    match = _is_share(text)
    if match is None or int(match[1]) > int(match[2]):
        raise UsageError(f"found {text!a}, due i/n with i from 1 to n, n at most {MOST_SHARDS}", where="--shard")
    return int(match[1]), int(match[2])


def drawn_share(spec: Spec, shard: int, of: int) -> Iterator[Slot]:
    """The slots of a shard, block by block, in the order in which they are run."""
    for place, block in enumerate(drawn_blocks(spec, "confirmatory")):
        if place % of == shard - 1:
            yield from block


def share_numbers(spec: Spec, index: Callable[[Mapping[str, Level]], int], of: int) -> array[int]:
    """The shard of every slot, by the number that `index` gives the slot."""
    numbers: dict[int, int] = {}
    for place, block in enumerate(drawn_blocks(spec, "confirmatory")):
        for slot in block:
            numbers[index(slot)] = place % of + 1
    return array("H", (numbers[number] for number in range(len(numbers))))
