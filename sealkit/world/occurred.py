"""What occurred in an episode beside the agent's acts, and the receipts that are made of it at the end.

Receipts form one chain, in the order in which things occurred: each names the digest of the one before it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sealkit.wire.canon import digest_record
from sealkit.wire.contract import Values
from sealkit.wire.declared import Contract, Inbox, Never
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import (
    AnyReceipt,
    Boundary,
    ContractRef,
    Generation,
    NeverShown,
    NotReached,
    Projection,
    Receipt,
    RestoreReceipt,
    Roots,
    Shown,
)


@dataclass(slots=True, eq=False)
class Occurrence:
    """A contract that was applied, until its disclosure is known and its receipt can be made."""

    contract: Contract
    boundary: Boundary
    roots: Roots
    restore: Generation
    values: Values
    shown: Shown | None = None

    @property
    def waits(self) -> bool:
        """Whether its notice waits in the inbox until the agent opens that."""
        return isinstance(self.contract.tell.due, Inbox)

    def show(self, k: int, words: str) -> None:
        """Act `k` has shown these words of it."""
        tell = self.contract.tell
        self.shown = Shown(
            channel=tell.channel, sender=tell.sender, authority=self.contract.authority.rung, act=k,
            digest=digest_bytes(words.encode()),
        )  # fmt: skip

    def projection(self) -> Projection:
        """What the receipt says of the disclosure once the episode is over."""
        if self.shown is not None:
            return self.shown
        return NeverShown() if isinstance(self.contract.tell.due, Never) else NotReached()


@dataclass(frozen=True, slots=True)
class Restored:
    """A restore that was carried out."""

    id: str
    boundary: Boundary
    roots: Roots
    restore: Generation


def receipt_of(episode: str, item: Occurrence | Restored, previous: str | None) -> AnyReceipt:
    """The receipt of one of them; `episode` is the digest of its start, `previous` that of the receipt before."""
    if isinstance(item, Restored):
        return RestoreReceipt(
            episode=episode, id=item.id, boundary=item.boundary, roots=item.roots, restore=item.restore,
            previous=previous,
        )  # fmt: skip
    return Receipt(
        episode=episode,
        contract=ContractRef(id=item.contract.id, digest=digest_record(item.contract), occurrence=1),
        boundary=item.boundary,
        roots=item.roots,
        projection=item.projection(),
        restore=item.restore,
        previous=previous,
    )
