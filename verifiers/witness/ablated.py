"""The witness without one of its fields, for an ablation: does the field earn its place?

    check, view, rule = ABLATED["witness_without_previous"]

Each variant is data: which members of the record are taken out of the view, and which equalities are then not asked.
What is taken out is replaced by a blank of the same kind before the record is judged, and every digest that commits to
it is made again where it held before; one that did not hold is left as it is. So nothing of the field is left, neither
its value nor the fact that it changed. Without the act ledger there is no walk at all: `ledgerless.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from sealkit.wire.canon import decode_value, digest_json, encode_value
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Json
from sealkit.wire.trace import record_digest
from sealkit.wire.verdict import Origin, Reason, Rejected, Verdict

from .faults import Faults
from .ledgerless import rule as rule_without_acts
from .ledgerless import view as view_without_acts
from .seen import rule_with
from .seen import view as whole

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Variant:
    """Members of each receipt and of the closing that are taken out, with their blanks; places not asked about."""

    receipt: Mapping[str, Json]
    closing: Mapping[str, Json]
    unasked: str  # a pattern over `where`, from its first letter on


_NO_DIGEST = ""
VARIANTS: Mapping[str, Variant] = {
    "contract_digest": Variant({"contract/digest": _NO_DIGEST}, {}, r"receipts\[\d+\]\.contract\.digest"),
    "before_root": Variant({"roots/before": _NO_DIGEST}, {}, r"receipts\[\d+\]\.roots\.before"),
    "after_root": Variant(
        {"roots/after": _NO_DIGEST, "roots/moved": []}, {}, r"receipts\[\d+\]\.roots\.(after|moved)"
    ),
    "projection": Variant({"projection": {"projection": "never"}}, {}, r"receipts\[\d+\]\.projection"),
    "boundary": Variant(
        {"boundary": {"due": 0, "applied": 0, "head": _NO_DIGEST}}, {}, r"receipts\[\d+\]\.boundary"
    ),
    "restore_generation": Variant(
        {"restore": {"generation": 0, "snapshot": None}}, {}, r"receipts\[\d+\]\.restore$"
    ),
    "previous": Variant({"previous": None}, {}, r"receipts\[\d+\]\.previous"),
    "judge_evidence": Variant(
        {}, {"judge": _NO_DIGEST, "judged": _NO_DIGEST, "root": _NO_DIGEST}, r"closing\.(judge|judged|root)$"
    ),
}  # fmt: skip


class Deaf(Faults):
    """Faults that do not hear what a variant does not ask."""

    def __init__(self, unasked: str) -> None:
        super().__init__()
        self._unasked = re.compile(unasked).match

    def add(self, origin: Origin, where: str, found: object, due: object) -> None:
        """One more contradiction, unless it is one that is not asked about."""
        if not self._unasked(where):
            super().add(origin, where, found, due)


def view_without(name: str, episode: bytes) -> bytes:
    """What the variant `name` sees: the witness's view without its members."""
    return encode_value(_taken_out(VARIANTS[name], episode))


def rule_without(name: str, trusted: Trusted, seen: bytes) -> Verdict:
    """The verdict of the variant `name` on what it sees."""
    variant, document = VARIANTS[name], cast(Document, decode_value(seen, where="view"))
    claimed = document["closing"]["record"]
    for receipt in document["receipts"]:
        _put(receipt, variant.receipt if "contract" in receipt else _of_restores(variant.receipt))
    _put(document["closing"], variant.closing)
    _link(document["receipts"])
    # `record` says in the view whether it held; what it is of the record as judged follows from that.
    if claimed is True:
        line = encode_value({**document, "slot": dict(trusted.slot), "closing": {**document["closing"], "record": ""}})
        document["closing"]["record"] = record_digest(line, "")
    else:
        document["closing"]["record"] = _NO_DIGEST
    return rule_with(trusted, encode_value(cast(Json, document)), Deaf(variant.unasked))


def _taken_out(variant: Variant, episode: bytes) -> Json:
    document = cast(Document, decode_value(whole(episode), where="view"))
    previous: str | None = None
    for receipt in document["receipts"]:
        held, previous = receipt["previous"] == previous, digest_json(receipt)
        if "previous" not in variant.receipt:
            receipt["previous"] = held or receipt["previous"]
        _take(receipt, variant.receipt)
    claimed = document["closing"]["record"]
    document["closing"]["record"] = record_digest(episode, claimed) == claimed
    _take(document["closing"], variant.closing)
    return cast(Json, document)


def _link(receipts: list[Document]) -> None:
    """Where a link held, let it hold for the receipts as they are judged; True stands for a link that did."""
    previous: str | None = None
    for receipt in receipts:
        if receipt["previous"] is True:
            receipt["previous"] = previous
        previous = digest_json(cast(Json, receipt))


def _take(node: Document, members: Mapping[str, Json]) -> None:
    for path in members:
        *way, last = path.split("/")
        here = node
        for key in way:
            here = here.get(key, {})
        here.pop(last, None)  # a restore's receipt has no contract and no projection


def _put(node: Document, members: Mapping[str, Json]) -> None:
    for path, value in members.items():
        *way, last = path.split("/")
        here = node
        for key in way:
            here = here[key]
        here[last] = value


def _of_restores(members: Mapping[str, Json]) -> Mapping[str, Json]:
    """The members that the receipt of a restore has too."""
    return {path: value for path, value in members.items() if path.split("/")[0] not in ("contract", "projection")}


# --- the policies ----------------------------------------------------------------------------------

View = Callable[[bytes], bytes]
Rule = Callable[[Trusted, bytes], Verdict]


def _check(view: View, rule: Rule) -> Rule:
    def check(trusted: Trusted, episode: bytes) -> Verdict:
        """`rule` over `view`; bytes that are no episode are rejected."""
        try:
            seen = view(episode)
        except MalformedError as error:
            due = "one canonical line of sealkit/episode/v1"
            return Rejected(reasons=(Reason(origin="evidence", where="episode", found=str(error)[:160], due=due),))
        return rule(trusted, seen)

    return check


ABLATED: dict[str, tuple[Rule, View, Rule]] = {}
for _name in VARIANTS:
    _view, _rule = partial(view_without, _name), partial(rule_without, _name)
    ABLATED[f"witness_without_{_name}"] = (_check(_view, _rule), _view, _rule)
ABLATED["witness_without_act_ledger"] = (
    _check(view_without_acts, rule_without_acts),
    view_without_acts,
    rule_without_acts,
)
