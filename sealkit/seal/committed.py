"""Holds what a pin commits to against its record: the source archive, the plan, the closure, the manifest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from sealkit.plan.actors import ExternalWorld
from sealkit.plan.load import Plan, open_plan_bytes
from sealkit.plan.schema import Spec
from sealkit.seal.archive import check_archive
from sealkit.seal.closure import Closure, check_closure
from sealkit.seal.commitment import Commitment
from sealkit.seal.manifest import Manifest, planned_keys
from sealkit.seal.places import beside, declared, plan_entry
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import MalformedError, UntrustedError, UsageError


def check_source(
    plan_path: Path, study: Path, number: int, commitment: Commitment, names: frozenset[str] | None
) -> dict[str, bytes]:
    """The archive is as committed to; those of its files that `names` has, or all Python files and the plan."""
    archive, source = beside(plan_path, "source.tar", number), commitment.source

    def keep(name: str) -> bool:
        if names is not None:
            return name in names
        return name == commitment.plan.path or (name.endswith(".py") and not name.startswith("sealkit/"))

    try:
        return check_archive(
            archive, commitment.closure, plan_entry(commitment.plan), inside=study, digest=source.digest,
            size=source.size, keep=keep,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise UntrustedError(
            "there is no source archive", where=str(archive), remedy="fetch the whole study"
        ) from error


def check_plan(data: bytes, name: str, commitment: Commitment, parsed: Sequence[Plan], since: str, record: str) -> Plan:
    """The plan in `data`, which has the bytes and says what the commitment says it does."""
    sealed = commitment.plan
    changed = digest_bytes(data) != sealed.file
    remedy = "put it back, or record the change with `sealkit amend`"
    plan = next((plan for plan in parsed if plan.data == data), None)
    try:
        plan = plan or open_plan_bytes(data, name)
    except (MalformedError, UsageError) as error:
        what = f"has changed since {since} and is no plan any more" if changed else "is sealed, but is no plan"
        raise UntrustedError(f"{what}: {error}", where=name) from error
    names = sorted(
        section
        for section in plan.sections.keys() | sealed.sections.keys()
        if plan.sections.get(section) != sealed.sections.get(section)
    )
    if names:
        section = f"section {names[0]} differs" if len(names) == 1 else f"sections {', '.join(names)} differ"
        raise UntrustedError(f"has changed since {since}: {section}", where=name, remedy=remedy)
    if changed:
        what = f"has changed since {since}: comments or layout differ, no section does"
        raise UntrustedError(what, where=name, remedy=remedy)
    stated = (sealed.canonical, sealed.id, sealed.size, commitment.data_access)
    if stated != (plan.digest, plan.spec.id, len(data), plan.spec.data_access):
        raise UntrustedError("says of the plan what the plan does not", where=record)
    return plan


def check_closure_of(closure: Closure, spec: Spec, *, where: str) -> None:
    """The closure is well-formed, and is that of what the plan names."""
    check_closure(closure, where=where)
    names = declared(spec)
    due = {*names.trees, *names.foreign}
    held = {tree.path for tree in closure.trees} | {entry.path for entry in closure.files}
    for path in sorted(due):
        if not any(path == one or path.startswith(f"{one}/") for one in held):
            raise UntrustedError(f"the plan depends on {path}, which is not sealed", where=where)
    for path in sorted(held - due - {"sealkit"}):
        raise UntrustedError(f"{path} is sealed, but the plan does not name it", where=where)


def check_manifest(manifest: Manifest, spec: Spec) -> None:
    """The manifest has the scenarios that the plan runs, in order, and no others."""
    planned = iter(()) if isinstance(spec.world, ExternalWorld) else planned_keys(spec)
    for found, due in zip_longest(manifest.keys(), planned):
        if found != due:
            what = f"found scenario {found or 'none'}, but the plan runs {due or 'no more'} there"
            raise UntrustedError(what, where=str(manifest.path))
