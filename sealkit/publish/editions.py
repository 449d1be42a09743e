"""The editions that come with a study, each held against it: none is passed over without a word.

    check_given(study, found, released)      # an edition's folder was given; the study is that of its bundle
    check_beside(study, found, plans)        # the folders in publications/ of a study that was given; `plans` with it

An edition is one of a study if the journal has a `published` entry for it, with the digest of its results.json. One
exception: a publication that was cut off between the folder and the entry left the edition of the analysis in force,
which is known by its name, that of the analysis' digest, and held in full.

Without a run an edition is held as far as plan, journal and quoted estimates decide it (`publish.held`). With one, the
latest of each plan is built again: from the study if nothing came after its analysis, else from its own bundle.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from sealkit.files import read_file_safely, spell, to_type
from sealkit.publish.bundle import opened_bundle
from sealkit.publish.document import name_of
from sealkit.publish.edition import BUNDLE, MAX_RESULTS, edition_of
from sealkit.publish.held import check_held
from sealkit.publish.pages.parts import part_of, rows_of
from sealkit.publish.released import (
    FILES,
    RESULTS,
    Released,
    check_rebuilt,
    check_released,
    lacking,
    open_released,
)
from sealkit.publish.review.anchors import PUBLICATIONS, editions_in
from sealkit.publish.review.study import Review, review
from sealkit.seal.pins import read_seal
from sealkit.seal.sealed import find_sealed
from sealkit.verify.study import Study, open_study
from sealkit.wire.canon import decode_value
from sealkit.wire.errors import UntrustedError


def check_given(study: Study, found: Review, released: Released) -> Iterator[str]:
    """Check the edition whose bundle the study is; what there is to say. `UntrustedError` if it does not hold."""
    _check_pin(study, released)
    check_released(released, found)
    yield from released.notes
    if study.sandbox is None:
        yield from _held(study, found, released, Path(os.path.relpath(released.folder)))
    else:
        check_rebuilt(released, edition_of(study, found))
        yield _rebuilt(released, "its bundle")


def check_beside(study: Study, found: Review, plans: Collection[Path]) -> Iterator[str]:
    """Check every edition of this plan in the study's publications/; what there is to say, also of what is no edition.

    `plans` are those that are verified with this one. `UntrustedError` for an edition that does not hold, for one that
    was never published, and for what belongs to no plan of the study.
    """
    folders = [path for path in editions_in(study.sealed.study) if _is_folder(path)]
    for folder in folders:
        if _is_ours(study, found, folder):
            yield from _check_one(study, found, folder)
        else:
            yield from _others(study, folder, plans)
    gone = found.published.keys() - {folder.name for folder in folders}
    yield from (f"edition {name} was published, and is not in {PUBLICATIONS}/" for name in sorted(gone))


def _is_folder(path: Path) -> bool:
    if path.is_symlink():
        raise UntrustedError("found a link, due a folder", where=spell(path), remedy="put the edition itself there")
    return path.is_dir()


# --- which study's, which plan's -----------------------------------------------------------------


def _pin_said(folder: Path) -> str | None:
    """The seal that an edition says it is of; None if it says nothing."""
    path = folder / RESULTS
    if not os.path.lexists(path):
        return None
    document = decode_value(
        read_file_safely(path, inside=folder, limit=MAX_RESULTS).removesuffix(b"\n"), where=spell(path)
    )
    return str(part_of(document, "study").get("pin")) if isinstance(document, dict) else None


def _is_ours(study: Study, found: Review, folder: Path) -> bool:
    """Whether an edition is this plan's by the journal, by its name, or by its own word."""
    if folder.name in found.published or _is_named_after(study.sealed.plan.spec.id, folder.name):
        return True
    return _pin_said(folder) == study.sealed.pin


def _is_named_after(id: str, name: str) -> bool:
    return re.fullmatch(re.escape(id) + "-[0-9a-f]{12}(-[0-9]+)?", name) is not None


def _others(study: Study, folder: Path, plans: Collection[Path]) -> Iterator[str]:
    """What there is to say of what is not this plan's; nothing of what is looked at in another plan's turn."""
    root, said = study.sealed.study, _pin_said(folder)
    for plan in find_sealed(root):
        seal, pin = read_seal(plan, root)
        if said == pin or _is_named_after(seal.plan.id, folder.name):
            if plan.name not in {one.name for one in plans}:
                check = to_type("verify", Path(os.path.relpath(plan)))
                yield f"edition {folder.name} is plan {seal.plan.id}'s, and was not looked at: {check}"
            return
    if said is not None:
        what = "is of a seal that this study does not have: nothing here verifies it"
        raise UntrustedError(what, where=spell(folder), remedy="move it away; its own bundle may verify")
    if any(os.path.lexists(folder / name) for name in FILES):
        what = f"looks like an edition, lacks {', '.join(lacking(folder))}, and no journal here has it as published"
        raise UntrustedError(what, where=spell(folder), remedy="move it away")
    yield f"{PUBLICATIONS}/{folder.name} is no edition, and was not read"


# --- one edition ---------------------------------------------------------------------------------


def _check_one(study: Study, found: Review, folder: Path) -> Iterator[str]:
    name, plan = folder.name, to_type("publish", Path(os.path.relpath(study.sealed.path)))
    due = None if found.analysed is None else name_of(study.sealed.plan.spec, found.analysed, len(found.analyses))
    in_force = name == due and not found.changed_since
    if missing := lacking(folder):
        state = "was published" if name in found.published else "was never published"
        raise UntrustedError(
            f"{state}, and lacks {', '.join(missing)}",
            where=spell(folder),
            remedy=f"`{plan}` writes it again" if in_force else "fetch the whole edition",
        )
    if name not in found.published and not in_force:
        what = "the journal has no entry that this edition was published"
        raise UntrustedError(what, where=spell(folder), remedy="nobody published it from this study: move it away")
    released = open_released(folder)
    _check_pin(study, released)
    check_released(released, found)
    yield from released.notes
    if study.sandbox is not None:
        yield from _again(study, found, released, in_force=in_force)
    elif in_force:
        yield from _held(study, found, released, Path(os.path.relpath(folder)))
    else:
        yield _as_published(released, to_type("verify", Path(os.path.relpath(folder))))
    if name not in found.published:
        if not all(row.get("open") is True for row in rows_of(released.document, "gates")):
            what = "a gate is closed: nothing is published of it"
            raise UntrustedError(what, where=spell(folder), remedy="move it away")
        yield f"edition {name} is unfinished: the journal has no entry yet that it was published; `{plan}` ends it"


def _check_pin(study: Study, released: Released) -> None:
    if released.pin != study.sealed.pin:
        what = "quotes another seal than its study's"
        raise UntrustedError(what, where=str(released.folder / RESULTS))


def _again(study: Study, found: Review, released: Released, *, in_force: bool) -> Iterator[str]:
    if in_force:
        check_rebuilt(released, edition_of(study, found))
        yield _rebuilt(released, "the study")
    elif released.name == list(found.published)[-1]:
        _build_from_bundle(study, released)
        yield _rebuilt(released, "its bundle")
    else:
        yield _as_published(released, to_type("verify", Path(os.path.relpath(released.folder)), "--replay"))


def _build_from_bundle(study: Study, released: Released) -> None:
    with opened_bundle(released.folder / BUNDLE) as unpacked:
        (plan,) = find_sealed(unpacked)
        with open_study(plan, replay=study.isolation) as bundled:
            _check_pin(bundled, released)
            found = review(bundled, anchors=(released.anchor,), measure=True, step=lambda number: None)
            check_rebuilt(released, edition_of(bundled, found))


# --- in words ------------------------------------------------------------------------------------


def _held(study: Study, found: Review, released: Released, folder: Path) -> Iterator[str]:
    left = check_held(released, study, found)
    yield (
        f"edition {released.name}: {released.pages}; its plan, verdicts, claims and gates were ruled on again from its "
        "bundle's sealed plan and journal and from the estimates that it quotes, the same"
    )
    rest = ["its estimates, whose digest the journal records", "that the sealed source gives these bytes again", *left]
    yield f"edition {released.name}, not compared: {'; '.join(rest)}: {to_type('verify', folder, '--replay')}"


def _rebuilt(released: Released, source: str) -> str:
    if released.unread:
        return f"edition {released.name}: its results.json was built again from {source}, the same; {released.pages}"
    return f"edition {released.name} was built again from {source}, the same bytes"


def _as_published(released: Released, command: str) -> str:
    return (
        f"edition {released.name}: its results.json is that of its `published` entry, and quotes its bundle; "
        f"{released.pages}. It is not that of the analysis in force, and was not ruled on again: {command}"
    )
