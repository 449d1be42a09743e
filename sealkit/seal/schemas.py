"""JSON Schemas of the records that `sealkit.seal` writes: seals, amendments and what they hold; see `wire.schemas`.

>>> seal_schemas()["seal"]["$defs"]["SourceSeal"]["properties"]["digest"]
{'type': 'string', 'pattern': '^sha256:[0-9a-f]{64}$'}
"""

from __future__ import annotations

from typing import Final

from sealkit.seal.closure import Closure, Environment
from sealkit.seal.commitment import Amendment, Seal
from sealkit.seal.heads import KnownHead
from sealkit.seal.tree import Tree, TreeEntry
from sealkit.wire.records import Record
from sealkit.wire.schemas import Schema, kind_of, record_schema

PUBLISHED: Final[tuple[type[Record], ...]] = (Amendment, Closure, Environment, KnownHead, Seal, Tree, TreeEntry)
DIGESTS: Final[dict[str, tuple[str, ...]]] = {
    "Amendment": ("previous",),
    "FileChange": ("before", "after"),
    "KnownHead": ("pin", "digest"),
    "ManifestSeal": ("root",),
    "PlanSeal": ("file", "canonical", "sections"),
    "Sibling": ("pin",),
    "SourceSeal": ("digest",),
    "Tree": ("root",),
    "TreeEntry": ("digest",),
}


def seal_schemas() -> dict[str, Schema]:
    """The schema of every such record, by the kind in its `type`."""
    return {kind_of(record): record_schema(record, digests=DIGESTS) for record in PUBLISHED}
