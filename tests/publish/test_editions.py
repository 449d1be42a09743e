"""Editions beside a study: every field changed alone, and every forged folder, named by its defect; honest ones hold."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sealkit.infer.quoted import faults_of
from sealkit.publish.editions import check_beside, check_given
from sealkit.publish.held import compare, due_of
from sealkit.publish.pages.markdown import markdown
from sealkit.publish.pages.page import page
from sealkit.publish.released import Released, check_released, open_released
from sealkit.publish.review.study import Review, review
from sealkit.verify.study import Study, open_study
from sealkit.wire.canon import encode_value
from sealkit.wire.errors import HarnessError, MalformedError, SealkitError, UntrustedError
from tests.studies import PLAN, SMALL, call, ok, plan_text


@pytest.fixture(scope="module")
def opened(published_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Study, Review]]:
    """A published study, reviewed once without a run. What a test does to its publications/, it undoes."""
    folder = Path(shutil.copytree(published_once, tmp_path_factory.mktemp("editions") / "study"))
    with open_study(folder / PLAN, replay=None) as study:
        yield study, review(study, anchors=(), measure=False, step=lambda number: None)


@pytest.fixture
def publications(opened: tuple[Study, Review], tmp_path: Path) -> Iterator[Path]:
    folder = opened[0].sealed.study / "publications"
    kept = shutil.copytree(folder, tmp_path / "kept")
    yield folder
    shutil.rmtree(folder)
    shutil.copytree(kept, folder)


@pytest.fixture
def edition(publications: Path) -> Path:
    (folder,) = publications.iterdir()
    return folder


def said(opened: tuple[Study, Review], *plans: Path) -> list[str]:
    study, found = opened
    return list(check_beside(study, found, plans or (study.sealed.path,)))


def refused(opened: tuple[Study, Review]) -> str:
    with pytest.raises(SealkitError) as found:
        said(opened)
    assert found.value.exit_code == 1
    return str(found.value)


# --- every field -------------------------------------------------------------------------------------


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [leaf for key, one in inside for leaf in leaves(one, (*path, key))]
    yield from below or [path]


def changed(document: Any, path: tuple[str | int, ...]) -> Any:
    """A copy with another value, of the same kind, at this place alone."""
    document = copy.deepcopy(document)
    *above, last = path
    place = document
    for key in above:
        place = place[key]
    old = place[last]
    others: dict[type, Any] = {bool: not old, int: 7 if old != 7 else 8, str: f"{old}!", list: ["!"], dict: {"!": 1}}
    place[last] = others.get(type(old), "!")
    return document


def held(released: Released, document: Any) -> Released:
    return replace(released, document=document, results=encode_value(document) + b"\n")


def test_every_field_of_results_changed_alone_is_refused(opened: tuple[Study, Review], edition: Path) -> None:
    study, found = opened
    alone = replace(found, published={})  # as in a bundle, whose journal ends before the edition
    released = open_released(edition)
    due = due_of(released, study, found)
    compare(released, due)
    # Who made it is the one thing that its bundle does not say: only the journal of its study does, at the end here.
    names = {path: ".".join(map(str, path)) for path in leaves(released.document) if path != ("made_by",)}
    assert len(names) > 200 and any(name.startswith("gates.0.") for name in names.values())
    passed = []
    for path, name in names.items():
        forged = held(released, changed(released.document, path))
        try:
            check_released(forged, alone)
            compare(forged, due)
        except UntrustedError as error:
            assert path[0] == "analysis" or f"$.{path[0]}" in str(error), (name, error)
        else:
            passed.append(name)
    assert passed == []
    with pytest.raises(UntrustedError, match="was published; it was edited"):
        check_released(held(released, changed(released.document, ("made_by",))), found)


def test_another_sealkit_may_word_its_sentences_otherwise_and_nothing_else(
    opened: tuple[Study, Review], edition: Path
) -> None:
    released = open_released(edition)
    document = copy.deepcopy(released.document) | {
        "made_by": "sealkit 99",
        "methods": "Otherwise.",
        "does_not_prove": [],
    }
    due = due_of(held(released, document), *opened)
    with pytest.raises(HarnessError, match=r"(methods|does_not_prove\[0\]) is not worded as this sealkit words it"):
        compare(held(released, document), due)
    own: Any = copy.deepcopy(document) | {"made_by": released.document["made_by"]}
    with pytest.raises(UntrustedError, match=r"\$\.methods|does_not_prove"):
        compare(held(released, own), due | {"made_by": own["made_by"]})
    document["claims"][0]["text"] = "It always works."
    with pytest.raises(UntrustedError, match=r"claims\[0\]\.text"):
        compare(held(released, document), due)


def test_a_field_too_many_or_too_few_is_refused(opened: tuple[Study, Review], edition: Path) -> None:
    released = open_released(edition)
    due = due_of(released, *opened)
    more = {**released.document, "endorsed_by": "everybody"}
    with pytest.raises(UntrustedError, match=r"\$\.endorsed_by is 'everybody', due not there"):
        compare(held(released, more), due)
    for key in released.document:
        less = {name: value for name, value in released.document.items() if name != key}
        with pytest.raises(UntrustedError, match=rf"\$\.{key} is not there"):
            compare(held(released, less), due)
    with pytest.raises(UntrustedError, match="is not written as an edition is"):
        compare(replace(released, results=released.results.replace(b":", b": ", 1)), due)


def test_rulings_do_not_follow_from_other_estimates(opened: tuple[Study, Review], edition: Path) -> None:
    """A journal written anew can record any analysis: its verdicts must still follow from its own estimates."""
    study, found = opened
    spec, record = study.sealed.plan.spec, json.loads((edition / "results.json").read_bytes())["analysis"]
    assert list(faults_of(spec, record, found.flow)) == []
    for row, place in enumerate(record["verdicts"]):
        for key in ("hypothesis", "says", "descriptive", "verdict", "rule", "why", "if_worst", "if_best", "metric"):
            (fault,) = faults_of(spec, changed(record, ("verdicts", row, key)), found.flow)
            assert fault.where == f"verdicts[{row}].{key}" and fault.due == place[key]
    for key in ("form", "population", "method", "kind", "level", "better"):
        (fault,) = faults_of(spec, changed(record, ("effects", 0, key)), found.flow)
        assert fault.where == f"effects[0].{key}"
    arm = next(iter(record["flow"]))
    for key in ("slots", "attempted", "attempts", "abandoned", "failed", "episodes", "missing", "ended"):
        (fault,) = faults_of(spec, changed(record, ("flow", arm, key)), found.flow)
        assert fault.where == f"flow.{arm}.{key}"
    fewer = copy.deepcopy(record)
    fewer["effects"].pop()
    assert [fault.where for fault in faults_of(spec, fewer, found.flow)] == ["effects"]
    rate = next(number for number, row in enumerate(record["effects"]) if "x" in row)
    other = copy.deepcopy(record)
    other["effects"][rate]["x"] -= 1
    assert {fault.where.partition(".")[2] for fault in faults_of(spec, other, found.flow)} >= {"verdict"}
    with pytest.raises(MalformedError, match="due a whole number or a decimal with 12 places"):
        list(faults_of(spec, changed(record, ("effects", rate, "estimate")), found.flow))


# --- forged folders ----------------------------------------------------------------------------------


def rewritten(folder: Path, **parts: Any) -> None:
    """The edition with these parts, its pages made of them."""
    document = json.loads((folder / "results.json").read_bytes())
    for name, value in parts.items():
        document[name] = {**document[name], **value} if isinstance(value, dict) else value
    (folder / "results.json").write_bytes(encode_value(document) + b"\n")
    (folder / "report.md").write_text(markdown(document), encoding="utf-8")
    (folder / "report.html").write_text(page(document), encoding="utf-8")


def beside(edition: Path, name: str, **parts: Any) -> Path:
    other = Path(shutil.copytree(edition, edition.with_name(name)))
    rewritten(other, edition=name, **parts)
    return other


@pytest.mark.parametrize("name", ["{}-final", "{}-2", "part-000000000000", "best"])
def test_a_copy_under_another_name_is_refused_by_name(name: str, opened: tuple[Study, Review], edition: Path) -> None:
    other = beside(edition, name.format(edition.name))
    assert f"{other.name}: the journal has no entry that this edition was published" in refused(opened)


def test_a_copy_made_by_another_sealkit_is_refused_too(opened: tuple[Study, Review], edition: Path) -> None:
    other = beside(edition, f"{edition.name}-2", made_by="sealkit 0.1.1")
    (other / "report.html").write_text("<h1>All proved</h1>")
    assert "the journal has no entry that this edition was published" in refused(opened)


@pytest.mark.parametrize("name", ["results.json", "report.md", "report.html", "bundle.tar"])
def test_a_published_edition_that_lacks_a_file_is_named_with_it(
    name: str, opened: tuple[Study, Review], edition: Path
) -> None:
    (edition / name).unlink()
    (edition / "report.html").write_text("<h1>All proved</h1>") if name != "report.html" else None
    assert f"{edition.name}: was published, and lacks {name}; `" in (message := refused(opened))
    assert f"publish {os.path.relpath(opened[0].sealed.path)}` writes it again" in message


def test_an_edition_with_another_pin_is_named(opened: tuple[Study, Review], edition: Path) -> None:
    foreign = "sha256:" + "0" * 64
    other = beside(edition, "elsewhere-000000000000", study={"pin": foreign})
    assert f"{other.name}: is of a seal that this study does not have" in refused(opened)
    shutil.rmtree(other)
    rewritten(edition, study={"pin": foreign})
    assert "results.json: quotes another seal" in refused(opened)


def test_parts_of_an_edition_that_nobody_published_are_named(opened: tuple[Study, Review], edition: Path) -> None:
    other = edition.with_name("summary")
    other.mkdir()
    assert "publications/summary is no edition, and was not read" in said(opened)
    (other / "report.html").write_text("<h1>All proved</h1>")
    assert "looks like an edition, lacks results.json, report.md, bundle.tar, and no journal here" in refused(opened)
    shutil.rmtree(other)
    other.symlink_to(edition)
    assert "summary: found a link, due a folder" in refused(opened)
    other.unlink()
    (edition / "summary.html").write_text("<h1>All proved</h1>")
    assert any("beside it lie summary.html, which are no part of it and were not read" in line for line in said(opened))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda document: document["claims"][0].update(text="Any model."), "$.claims[0].text"),
        (lambda document: document["gates"][0].update(open=False), "$.gates[0].open"),
        (lambda document: document["study"].update(confounds=[]), "$.study.confounds"),
        (lambda document: document.update(does_not_prove=[]), "$.does_not_prove[0]"),
    ],
)
def test_an_unfinished_edition_is_held_as_any_other(
    edit: Callable[[Any], None], says: str, opened: tuple[Study, Review], edition: Path
) -> None:
    study, found = opened
    cut_off = replace(found, published={}, edition=None)
    assert any("is unfinished" in line for line in check_beside(study, cut_off, (study.sealed.path,)))
    document = json.loads((edition / "results.json").read_bytes())
    edit(document)
    rewritten(edition, **document)
    with pytest.raises(UntrustedError) as error:
        list(check_beside(study, cut_off, (study.sealed.path,)))
    assert says in str(error.value)


# --- honest ones -------------------------------------------------------------------------------------


def test_what_is_published_holds_and_says_what_was_not_compared(opened: tuple[Study, Review], edition: Path) -> None:
    ruled, left = said(opened)
    assert ruled.startswith(f"edition {edition.name}: its pages are those of results.json; its plan, verdicts, claims")
    assert left.startswith(f"edition {edition.name}, not compared: its estimates, whose digest the journal records;")
    assert left.endswith(f"verify {os.path.relpath(edition)} --replay")
    study, found = opened
    assert list(check_given(study, found, open_released(edition))) == [ruled, left]
    shutil.rmtree(edition)
    assert said(opened) == [f"edition {edition.name} was published, and is not in publications/"]


@pytest.mark.slow
def test_editions_of_two_plans_in_one_study_are_each_held_in_their_turn(
    published_once: Path, tmp_path: Path, state: Path
) -> None:
    study = Path(shutil.copytree(published_once, tmp_path / "study"))
    (study / "plans" / "more.yaml").write_text(plan_text(SMALL, id="more"), encoding="utf-8")
    for command in (("seal",), ("run", "--jobs", "1"), ("analyse",), ("publish",)):
        ok(call(command[0], "plans/more.yaml", *command[1:], cwd=study))
    one, other = sorted(path.name for path in (study / "publications").iterdir())
    whole = ok(call("verify", ".", cwd=study)).out
    assert all(f"edition {name}: its pages are those of results.json" in whole for name in (one, other))
    alone = ok(call("verify", PLAN, cwd=study)).out
    assert f"edition {one} is plan more's, and was not looked at: sealkit verify plans/more.yaml" in alone
    again = ok(call("verify", ".", "--replay=unsafe", cwd=study)).out
    assert all(f"edition {name} was built again from the study, the same bytes" in again for name in (one, other))
    (study / "publications" / one / "report.md").unlink()
    found = call("verify", ".", cwd=study)
    assert found.code == 1 and f"{one}: was published, and lacks report.md" in found.err
