"""Makes an edited episode coherent again: an implementation of every digest of its own, on plain JSON.

    document = read(line)                      # a plain dict, edited at will
    reseal(document, trusted)                  # → the line, chains and digests made right again

`seal_record` makes only the record digest right, as a forger does who knows no more of the format.
`keep` names digests that are to stay as they were edited: `head`, `prev`, `previous`, `judged`, `episode`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import Any, TypeAlias

from sealkit.wire.episode import Trusted

Document: TypeAlias = dict[str, Any]


def read(line: bytes) -> Document:
    """The episode as plain JSON, ready to be edited."""
    document: Document = json.loads(line)
    return document


def spell(value: object) -> bytes:
    """Canonical JSON, as far as records go."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest(value: object) -> str:
    """The digest of a record."""
    return "sha256:" + hashlib.sha256(spell(value)).hexdigest()


def digest_line(line: bytes) -> str:
    """The digest of bytes as they stand."""
    return "sha256:" + hashlib.sha256(line).hexdigest()


def contract_digest(trusted: Trusted, id: str) -> str:
    """The digest of a contract of the trusted scenario."""
    return digest(next(item for item in json.loads(trusted.scenario)["contracts"] if item["id"] == id))


def root(state: dict[str, Any]) -> str:
    """The root of a material state."""
    components = {
        name: digest({"type": "sealkit/component/v1", "name": name, "value": value}) for name, value in state.items()
    }
    return digest({"type": "sealkit/root/v1", "components": components})


def seal_record(document: Document) -> bytes:
    """The line with its record digest made right, and nothing else."""
    closing = document["closing"]
    closing.pop("record", None)
    closing["record"] = digest(document)
    return spell(document)


def reseal(document: Document, trusted: Trusted, *, keep: Collection[str] = ()) -> bytes:
    """The line with identity, heads, chains, judge's input and record digest made right."""
    document["scenario"] = digest_line(trusted.scenario)
    start = digest({
        "type": "sealkit/start/v1", "pin": document["pin"], "slot": document["slot"],
        "scenario": document["scenario"], "genesis": document["genesis"],
    })  # fmt: skip
    heads = _chain_acts(document["acts"], start, keep)
    _chain_receipts(document["receipts"], start, heads, keep)
    closing = document["closing"]
    if "judged" not in keep:
        closing["judged"] = digest({
            "type": "sealkit/judged/v1", "scenario": document["scenario"], "trace": digest(document["acts"][-1]),
            "root": closing["root"],
        })  # fmt: skip
    return seal_record(document)


def _chain_acts(acts: list[Document], prev: str, keep: Collection[str]) -> dict[str, str]:
    heads: dict[str, str] = {}
    for act in acts:
        if "prev" not in keep:
            act["prev"] = prev
        head = digest({"type": "sealkit/head/v1", **{name: act[name] for name in ("n", "action", "delta", "prev")}})
        if "head" not in keep:
            heads[act["head"]] = head
            act["head"] = head
        prev = digest(act)
    return heads


def _chain_receipts(receipts: list[Document], start: str, heads: dict[str, str], keep: Collection[str]) -> None:
    previous = None
    for receipt in receipts:
        if "episode" not in keep:
            receipt["episode"] = start
        receipt["boundary"]["head"] = heads.get(receipt["boundary"]["head"], receipt["boundary"]["head"])
        if "previous" not in keep:
            receipt["previous"] = previous
        previous = digest(receipt)
