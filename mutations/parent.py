"""A parent: a faithful episode with what is trusted of it, and where its events stand in the record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from sealkit.wire.canon import decode_record, digest_json
from sealkit.wire.declared import Contract, Scenario
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Trusted

Document: TypeAlias = dict[str, Any]
EXECUTION = "sealkit/execution/v1"  # an executor's own steps, in the `memory` of an act; see verifiers/causal/SPEC.md


class InapplicableError(Exception):
    """The mutation has no place in this parent; the text says what is lacking."""


@dataclass(frozen=True, slots=True)
class Event:
    """One contract that the record has: where its delta, its receipt and its notice stand."""

    contract: Contract
    act: int
    delta: int  # its place in acts[act].deltas
    receipt: int
    moves: bool  # whether it changed the state
    notice: tuple[int, int] | None  # act and segment
    restored: bool  # whether a restore comes after it


@dataclass(frozen=True, eq=False)
class Parent:
    """A faithful episode."""

    trusted: Trusted
    line: bytes

    @cached_property
    def document(self) -> Document:
        """The record as plain JSON; never changed."""
        document: Document = json.loads(self.line)
        return document

    @cached_property
    def scenario(self) -> Scenario:
        """The trusted scenario."""
        return decode_record(self.trusted.scenario, Scenario, where="the trusted scenario")

    @cached_property
    def digest(self) -> str:
        """The digest of the line: the name under which forks know their parent."""
        return digest_bytes(self.line)

    @cached_property
    def leaves(self) -> dict[str, Any]:
        """Every leaf of the record, by its JSON Pointer."""
        return dict(leaves(self.document))

    @cached_property
    def leaf_digests(self) -> dict[str, str]:
        """The digest of every leaf."""
        return {at: digest_json(value) for at, value in self.leaves.items()}

    @property
    def last(self) -> int:
        """The number of the last act."""
        return len(self.document["acts"]) - 1

    @cached_property
    def restores(self) -> tuple[tuple[int, int], ...]:
        """Act and place in its deltas of each restore."""
        return tuple(
            (act["n"], j)
            for act in self.document["acts"]
            for j, delta in enumerate(act["deltas"])
            if delta["cause"].startswith("restore:")
        )

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The contracts that were applied, in their order."""
        contracts = {contract.id: contract for contract in self.scenario.contracts}
        receipts = {item["contract"]["id"]: i for i, item in enumerate(self.document["receipts"]) if "contract" in item}
        return tuple(
            Event(
                contract=contracts[id],
                act=act["n"],
                delta=j,
                receipt=receipts[id],
                moves=bool(delta["ops"]),
                notice=self._notice(id),
                restored=any(at >= act["n"] for at, _ in self.restores),
            )
            for act in self.document["acts"]
            for j, delta in enumerate(act["deltas"])
            if delta["cause"].startswith("contract:")
            for id in [delta["cause"].partition(":")[2]]
        )

    def _notice(self, id: str) -> tuple[int, int] | None:
        return next(
            (
                (act["n"], s)
                for act in self.document["acts"]
                for s, segment in enumerate(act["segments"])
                if segment["kind"] == "notice" and segment["contract"] == id
            ),
            None,
        )


def leaves(node: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar, and every empty object or array, with the JSON Pointer to it."""
    if isinstance(node, (dict, list)) and node:
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in items:
            yield from leaves(value, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")
    else:
        yield pointer, node
