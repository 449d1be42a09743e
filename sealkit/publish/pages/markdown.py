"""The report as Markdown, for diffs and mail: the same parts as the page, from `results.json` alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from sealkit.plan.lint_world import level_in_words
from sealkit.publish.pages import effect_parts, failure_parts, parts, planned_parts
from sealkit.publish.pages.parts import Row, Table, named, part_of, rows_of
from sealkit.publish.pages.plain import plain, words

_MARKS = frozenset("\\`*_[]<>|#&~$")
_link = re.compile(r"(?i)(?<=\w):(?=/)|(?<=www)\.")  # what a reader's program would make a link of
# What GitHub looks for after all escapes are gone: addresses and mentions, issues, names of pictures.
_seen_late = re.compile(
    r"@(?=\S)|\\#(?=[0-9])|:(?!sha256:)(?=(?:[a-z0-9_+\\-]*[a-z][a-z0-9_+\\-]*|[+-]1|100|1234)\\?:)"
)
_APART = "<!-- -->"
_begins = re.compile(r"([-+=]|[0-9]+[.)])")


def markdown(document: Row) -> str:
    """The Markdown report of an edition."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Row) -> Iterator[str]:
    study, analysis, plan = part_of(document, "study"), part_of(document, "analysis"), part_of(document, "plan")
    yield f"# {_text(study['title'])}"
    yield f"\n{_paragraph(study['question'])}"
    edition = _code(document["edition"])
    yield f"\nEdition {edition} of plan {_text(study['plan'])}, sealed {_text(study['sealed_at'])}."
    admitted = f"{_text(study['admitted'])} of {_text(study['slots'])} slots admitted"
    yield f"Pin {_code(study['pin'])}. Evidence: {_text(level_in_words(str(study['evidence'])))}. {admitted}."
    yield "\n## Verdicts, and what they do not show\n"
    for verdict in rows_of(analysis, "verdicts"):
        descriptive = " (descriptive)" if verdict.get("descriptive") else ""
        what = f"{_text(named(verdict))}{descriptive}: {_text(verdict.get('says'))}"
        yield f"- **{_text(words(str(verdict['verdict'])))}**: {what}"
        ruled = planned_parts.ruled_lines(verdict, plan, rows_of(analysis, "effects"))
        lines = (*ruled, *parts.verdict_lines(verdict, rows_of(document, "abandoned")))
        yield from (f"  - {_paragraph(line)}" for line in lines)
    earlier = parts.earlier_table(part_of(document, "after_amendments"))
    analyses = parts.analyses_table(document)
    yield from _tables(tuple(table for table in (earlier, analyses) if table))
    yield "\nNot shown, whatever the verdicts:\n"
    yield from (f"- {_paragraph(sentence)}" for sentence in cast(list[str], document["does_not_prove"]))
    yield from _claims(document)
    yield from _effects(plan, analysis)
    yield "\n## From scheduled slots to outcomes"
    yield from (f"\n{_paragraph(line)}" for line in failure_parts.FLOW_WORDS)
    yield from _tables(parts.flow_tables(part_of(analysis, "flow")))
    yield from _tables(failure_parts.failure_tables(rows_of(document, "failures")))
    yield from _tables(parts.reading_tables(part_of(document, "readings")))
    yield from (f"\n{_paragraph(line)}" for line in parts.exclusion_lines(part_of(analysis, "exclusions")))
    yield from _amendments(document, analysis)
    yield "\n## Overhead"
    yield from _table(parts.overhead_table(part_of(analysis, "overhead")))
    yield "\n## Gates"
    yield from _table(parts.gate_table(document))
    yield f"\n## Methods\n\n{_paragraph(document['methods'])}\n"
    confounds = cast(list[str], study["confounds"])
    yield from ["Confounds that the plan states:\n"] if confounds else ()
    yield from (f"- {_paragraph(one)}" for one in confounds)
    yield f"\nPower, as the plan states it: {_text(study['power'])}"
    yield f"\n## Check it yourself\n\n{_code('sealkit verify ' + str(document['edition']) + ' --replay')}"
    yield from _table(parts.provenance(study))


def _effects(plan: Row, analysis: Row) -> Iterator[str]:
    named = planned_parts.planned_tables(plan)
    yield from ["\n## What the names stand for"] if named else ()
    yield from _tables(named)
    yield "\n## Effects\n"
    yield from (f"- {_paragraph(line)}" for line in planned_parts.COLUMNS)
    yield from _tables(effect_parts.effect_tables(analysis, frozenset(planned_parts.read_by_rules(plan))))


def _claims(document: Row) -> Iterator[str]:
    for stratum in parts.strata(rows_of(document, "claims")):
        yield f"\n## Claims: {stratum.title}\n"
        for claim in stratum.claims:
            why = f" {_text(claim['why'])}." if claim["why"] else ""
            yield f"- **{_text(claim['standing'])}**: {_text(claim['text'])}"
            yield f"  - Does not show: {_text(claim['does_not_show'])}"
            yield f"  - Needs {_text(claim['needs_text'])}.{why}"


def _amendments(document: Row, analysis: Row) -> Iterator[str]:
    after = part_of(document, "after_amendments")
    amendments, differing = parts.amendment_tables(rows_of(document, "amendments")), parts.differing_table(after)
    yield "\n## Amendments"
    if not amendments:
        yield "\nNone: plan, code and scenarios are as they were sealed."
    yield from _tables((*amendments, *([differing] if differing else [])))
    yield from _tables(effect_parts.amended_tables(analysis, after))
    yield from (f"\n{_paragraph(line)}" for line in parts.withdrawal_lines(part_of(document, "withdrawn")))


def _tables(tables: tuple[Table, ...]) -> Iterator[str]:
    for table in tables:
        yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield f"\n{_paragraph(table.caption)}\n" if table.caption else ""
    yield "| " + " | ".join(map(_text, table.heads)) + " |"
    yield "|" + "|".join("---:" if place in table.right else "---" for place in range(len(table.heads))) + "|"
    for row in table.rows:
        yield "| " + " | ".join(map(_text, row)) + " |"


def _text(value: object) -> str:
    """Foreign text that Markdown does not obey: controls spelled out, its marks escaped, no links.

    A comment, which nobody sees, keeps apart what no escape does.
    """
    escaped = "".join(f"\\{c}" if c in _MARKS else c for c in plain(str(value)))
    linkless = _link.sub(lambda found: f"\\{found[0]}", escaped)
    return _seen_late.sub(lambda found: found[0] + _APART, linkless)


def _code(value: object) -> str:
    """Text as code, which ends at a backtick and knows no escapes."""
    return f"`{plain(str(value)).replace('`', '')}`"


def _paragraph(value: object) -> str:
    """The same at the beginning of a line, where a dash or a number would begin a list."""
    text = _text(value).lstrip()
    found = _begins.match(text)
    return text[: found.end() - 1] + "\\" + text[found.end() - 1 :] if found else text
