"""Makes forks: one parent, one family, one variant, one record of what was changed.

    fork = make_fork(parent, "M2", "truth")          # or InapplicableError
    fork.line, fork.trusted                           # what a detector is given: nothing else
    fork.note()                                       # what the audit of isolation is given

Draws are keyed by parent, family and variant, so a fork is the same on every machine and moves no other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sealkit.wire.episode import Trusted
from sealkit.world.draws import Draws

from .catalogue import FAMILIES, Variant
from .executor import Edits, carry_out, written
from .parent import Document, InapplicableError, Parent, leaves


@dataclass(frozen=True, eq=False)
class Fork:
    """A parent with exactly one mutation. `family` and `variant` are the label, which no detector sees."""

    parent: Parent
    family: str
    variant: str
    trusted: Trusted
    line: bytes
    edits: Edits

    @property
    def label(self) -> Variant:
        """What is declared of it beforehand."""
        return next(item for item in FAMILIES[self.family].variants if item.name == self.variant)

    @cached_property
    def _same(self) -> frozenset[str]:
        before, after = self.parent.leaves, dict(leaves(json.loads(self.line)))
        return frozenset(at for at, value in after.items() if at in before and _alike(before[at], value))

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """Pointers of the leaves that differ, are new, or are gone."""
        after = dict(leaves(json.loads(self.line)))
        return tuple(sorted((self.parent.leaves.keys() | after.keys()) - self._same))

    @cached_property
    def unchanged(self) -> dict[str, str]:
        """The digest of each leaf that is as it was, by its pointer."""
        return {at: digest for at, digest in self.parent.leaf_digests.items() if at in self._same}

    def note(self) -> Document:
        """What was done, for the audit: plain JSON."""
        return {
            "changed": list(self.changed),
            "edits": {
                "executed": written(self.edits.executed),
                "recorded": written(self.edits.recorded),
                "start": written(self.edits.start),
            },
            "family": self.family,
            "parent": self.parent.digest,
            "unchanged": dict(self.unchanged),
            "variant": self.variant,
        }


def make_fork(parent: Parent, family: str, variant: str) -> Fork:
    """The fork; `InapplicableError` where the parent has no place for it, or nothing in the record would differ."""
    made = FAMILIES[family].make(parent, variant, Draws("mutation", family, variant, parent.digest))
    edits, trusted = made if isinstance(made, tuple) else (made, parent.trusted)
    line = carry_out(parent, edits)
    if line == parent.line:
        raise InapplicableError("nothing in the record differs")
    return Fork(parent, family, variant, trusted, line, edits)


def forks_of(parent: Parent) -> Iterator[Fork | tuple[str, str, str]]:
    """Every fork of a parent in the order of the catalogue; (family, variant, why) where one cannot be made."""
    for family in FAMILIES.values():
        for variant in family.variants:
            try:
                yield make_fork(parent, family.id, variant.name)
            except InapplicableError as error:
                yield family.id, variant.name, str(error)


def _alike(value: object, other: object) -> bool:
    """Python takes true for 1; a record does not."""
    return type(value) is type(other) and value == other
