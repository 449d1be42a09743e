"""Opens a plan: reads, checks and digests it in one step, or refuses it with everything that is wrong.

A plan has three fingerprints. `file_digest` is over the bytes of the file. `digest` is over the canonical parse:
the written keys and values alone, as a canonical record, so that comments and layout do not count. `sections` has
one such digest for each top-level key, so that "hypotheses unchanged" is a comparison of digests.

In the canonical parse a decimal is its text (`0.95` and `0.950` are "0.95"), a range `0..9` stays one, and the two
mappings whose order matters, `factors.arm` and each `verdict`, are lists of [name, value].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Final

from sealkit.files import read_if_there
from sealkit.plan.lint import lint
from sealkit.plan.parts import read_part
from sealkit.plan.problems import KeyPath, Positions, Problem, usage_error
from sealkit.plan.scalars import Range
from sealkit.plan.schema import Spec
from sealkit.plan.wanted import beyond_cap
from sealkit.plan.yaml import MAX_BYTES, Document, Tree, read_yaml
from sealkit.wire.canon import digest_json, encode_value
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import UsageError
from sealkit.wire.records import Json

TYPE: Final = "sealkit/plan/v1"
SECTION_TYPE: Final = "sealkit/plan-section/v1"


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked plan: its bytes, what they say, and their digests.

    `sections` maps every top-level key but `sealkit` to the digest of what stands under it.
    """

    name: str
    data: bytes
    spec: Spec
    canonical: bytes
    file_digest: str
    digest: str
    sections: Mapping[str, str]
    positions: Positions = field(repr=False)

    def where(self, *path: str | int) -> str:
        """Where `path` stands: `plan.where("sample", "seed")` is `plans/v1.yaml:41:9 $.sample.seed`."""
        return self.positions.where(path)


def open_plan(path: Path) -> Plan:
    """The plan in the file at `path`, checked; see `open_plan_bytes`."""
    return open_plan_bytes(_bytes(path), str(path))


def open_plan_bytes(data: bytes, name: str) -> Plan:
    """The plan in `data`, checked. `name` stands for the file in messages.

    Raises `UsageError` if it is not YAML as sealkit reads it, or no plan that can be meant: it lists every problem
    found, with line, column and remedy.
    """
    document = read_yaml(data, name)
    spec = _spec(document)
    problems = lint(spec)
    if problems:
        raise usage_error(problems, document.positions)
    parse = canonical_parse(document.value)
    canonical = encode_value(parse)
    return Plan(
        name=name,
        data=data,
        spec=spec,
        canonical=canonical,
        file_digest=digest_bytes(data),
        digest=digest_bytes(canonical),
        sections=_sections(parse),
        positions=document.positions,
    )


def check_sealable(plan: Plan) -> None:
    """Raise `UsageError` for what a plan that was sealed earlier may have, and a new seal may not."""
    if problems := list(beyond_cap(plan.spec)):
        raise usage_error(problems, plan.positions)


def canonical_parse(tree: Tree) -> dict[str, Json]:
    """The written keys and values of a plan as a record of type `sealkit/plan/v1`."""
    parse = _canonical(tree, ())
    if not isinstance(parse, dict):
        raise UsageError("a plan is a mapping", remedy="start from `sealkit init`")
    return {"type": TYPE, **parse}


def _spec(document: Document) -> Spec:
    problems: list[Problem] = []
    spec = read_part(Spec, document.value, problems)
    if spec is None:
        raise usage_error(problems, document.positions)
    return spec


def _sections(parse: Mapping[str, Json]) -> dict[str, str]:
    return {
        name: digest_json({"type": SECTION_TYPE, "section": name, "value": value})
        for name, value in parse.items()
        if name not in ("type", "sealkit")
    }


def _canonical(tree: Tree, path: KeyPath) -> Json:
    if isinstance(tree, dict):
        items = {key: _canonical(value, (*path, key)) for key, value in tree.items()}
        return [[key, value] for key, value in items.items()] if _is_ordered(path) else items
    if isinstance(tree, tuple):
        return [_canonical(item, (*path, index)) for index, item in enumerate(tree)]
    if isinstance(tree, Decimal):
        return format(tree.normalize(), "f")
    return str(tree) if isinstance(tree, Range) else tree


def _is_ordered(path: KeyPath) -> bool:
    return path == ("factors", "arm") or (len(path) == 3 and path[0] == "hypotheses" and path[2] == "verdict")


def _bytes(path: Path) -> bytes:
    data = read_if_there(path, inside=path.parent, limit=MAX_BYTES)
    if data is None:
        raise UsageError("there is no such file", where=str(path), remedy="name a plan, such as plans/v1.yaml")
    return data
