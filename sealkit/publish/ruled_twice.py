"""What a reader is told where the sealed sealkit is not the one that is running: whether both rule alike.

    ruled = ruled_twice(study, found, released)     # found: a review in which the sealed judge measured
    ruled.lines, ruled.faults, ruled.unable, ruled.record

Where both are one sealkit nothing was run twice, and there is nothing to tell. A version that rules alike is told in
one line. One that does not is a fault, whoever is right: what is published is not what the reader's own sealkit comes
to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from sealkit.infer.analysis import Analysis, analyse
from sealkit.publish.pages.parts import Row, part_of, rows_of
from sealkit.publish.released import Released, open_released
from sealkit.publish.review.analyse import analysis_of
from sealkit.publish.review.anchors import editions_in
from sealkit.publish.review.other_code import Verdicts
from sealkit.publish.review.own_ruling import Differences, OwnRuling
from sealkit.publish.review.study import Review
from sealkit.verify.study import Study
from sealkit.wire.canon import digest_json
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import SealkitError
from sealkit.wire.records import Json

_is_number: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?").fullmatch
_CASES: Final = (" if_worst", " if_best")


@dataclass(frozen=True, slots=True)
class Ruled:
    """What this sealkit came to, in lines; how much is otherwise; why it could not rule, if it could not."""

    lines: tuple[str, ...] = ()
    faults: int = 0
    unable: str = ""

    @property
    def record(self) -> Json:
        """The same for a program; null where the sealed sealkit is this one, or nothing was replayed."""
        if not self.lines:
            return None
        return {"differences": self.faults, "could_not_rule": self.unable or None, "lines": list(self.lines)}


def ruled_twice(study: Study, found: Review, released: Released | None) -> Ruled:
    """What this sealkit comes to, held against the sealed one, the journal, and what was published of it.

    `released` is the edition that the study was given with; without one, it is those in the study's folder.
    """
    own = found.own
    if own is None:
        return Ruled()
    numbers, verdicts, same = Differences("numbers"), Differences("verdicts"), ""
    if not own.why_not:
        try:
            study.check_own_scenarios()
            if found.analysed is not None and not found.changed_since:
                same = _rule(study, found, own, released, verdicts, numbers)
        except SealkitError as error:
            own.unable = own.unable or str(error)
    if own.why_not:
        what = "what stands here is by the sealed code alone"
        return Ruled((f"not ruled again: this sealkit could not rule on it: {own.why_not}; {what}",), 0, own.why_not)
    unlike = [one for one in (verdicts, numbers, own.measures, own.admissions) if one.count]
    if unlike:
        lines = tuple(one.line(named=found.analysed is not None) for one in unlike)
        return Ruled(lines, sum(one.count for one in unlike))
    done = f"{own.admissions.compared} episodes checked and {own.measures.compared} measured"
    return Ruled((f"this sealkit is not the sealed one, and came to the same by its own code: {done}{same}",))


def _rule(
    study: Study, found: Review, own: OwnRuling, released: Released | None, verdicts: Differences,
    numbers: Differences,
) -> str:  # fmt: skip
    """Rule by this sealkit's analysis, and note what is otherwise; in words, what is the same."""
    measuring = found.measuring
    assert measuring is not None, "an own ruling is made beside the sealed one"
    if measuring.sealed_cells is None and not (own.measures.count or own.admissions.count):
        return f", results {short(str(found.analysed))}"  # the same cells under the same rules
    mine = analyse(study.sealed.plan, found.pins, found.flow, own.cells)
    results = digest_bytes(mine.line)
    if results == found.analysed:
        return f", results {short(results)}"
    ruled = verdicts_of(mine)
    editions = _published(study, found, released)
    for source, other in _sealed(study, found, editions):
        _compare(verdicts, source, other, ruled)
    for name, analysis in editions.items():
        _compare_numbers(numbers, name, analysis, dict(mine.record))
    return f"; all verdicts are the same, and its results have other bytes, {short(results)}"


def verdicts_of(analysis: Analysis) -> Verdicts:
    """The verdicts of an analysis, by what they are on."""
    return {(one.hypothesis, one.metric): one.verdict for one in analysis.verdicts}


def _sealed(study: Study, found: Review, editions: Mapping[str, Row]) -> Iterator[tuple[str, Verdicts]]:
    """What the sealed side comes to, or says: a child that lies may answer otherwise than its results say."""
    measuring, last = found.measuring, found.recorded_analyses[-1]
    if last.verdicts:
        yield "", last.verdicts
    elif measuring is not None and measuring.sealed_cells is not None:
        yield "", measuring.sealed_cells.verdicts()
    else:
        yield "", verdicts_of(analysis_of(study, found))
    for name, analysis in editions.items():
        rows = rows_of(analysis, "verdicts")
        published = {(str(row.get("hypothesis")), _metric(row)): str(row.get("verdict")) for row in rows}
        if published != last.verdicts:
            yield f" in edition {name}", published


def _published(study: Study, found: Review, released: Released | None) -> dict[str, Row]:
    """The analysis in force as editions hold it, by their names. What is no whole edition is for others to refuse."""
    there = [released] if released is not None else []
    for folder in editions_in(study.sealed.study) if released is None else ():
        with suppress(SealkitError, OSError):
            there.append(open_released(folder))
    analyses = {one.name: part_of(one.document, "analysis") for one in there if one.pin == study.sealed.pin}
    return {name: analysis for name, analysis in analyses.items() if digest_json(analysis) == found.analysed}


def _metric(row: Row) -> str | None:
    return None if row.get("metric") is None else str(row["metric"])


def _compare(found: Differences, source: str, sealed: Verdicts, mine: Verdicts) -> None:
    for key in dict.fromkeys((*mine, *sealed)):
        found.compared += 1
        if sealed.get(key) != mine.get(key):
            name = f"{key[0]} on {key[1]}" if key[1] else key[0]
            found.add(f"{name}{source}", sealed.get(key, "not asked"), mine.get(key, "not asked"))


def _compare_numbers(found: Differences, edition: str, published: Row, mine: Row) -> None:
    """Note the numbers under effects, and verdicts in the worst and best case, that both have and that differ."""
    for section, names in (("effects", ("effect", "metric")), ("verdicts", ("hypothesis", "metric"))):
        due = {_key(row, names): row for row in rows_of(mine, section)}
        for row in rows_of(published, section):
            key = _key(row, names)
            for path, here, there in _leaves(key, row, due.get(key)):
                found.compared += 1
                if here != there:
                    found.add(f"{path} in edition {edition}", here, there)


def _key(row: Row, names: tuple[str, ...]) -> str:
    return " ".join(str(row[name]) for name in names if row.get(name) is not None)


def _leaves(path: str, here: Json, there: Json) -> Iterator[tuple[str, Json, Json]]:
    """The numbers and cases that both sides have."""
    if isinstance(here, dict) and isinstance(there, dict):
        for name in sorted(here.keys() & there.keys()):
            yield from _leaves(f"{path} {name}", here[name], there[name])
    elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        for place, (one, other) in enumerate(zip(here, there, strict=True)):
            yield from _leaves(f"{path} {place}", one, other)
    elif _counts(path, here) or _counts(path, there):
        yield path, here, there


def _counts(path: str, value: Json) -> bool:
    return isinstance(value, int) or (
        isinstance(value, str) and (bool(_is_number(value)) or path.endswith(_CASES))
    )  # fmt: skip
