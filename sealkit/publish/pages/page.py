"""The report as one self-contained page: no script, no request, every foreign character escaped.

Its content-security policy allows nothing but the one style sheet, by its digest.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import cast

import jinja2
import markupsafe

from sealkit.publish.pages import effect_parts, failure_parts, forest, parts, planned_parts
from sealkit.publish.pages.parts import Row, Table, part_of, rows_of
from sealkit.publish.pages.plain import plain, words
from sealkit.publish.pages.style import STYLE
from sealkit.publish.pages.template import GRID, PAGE
from sealkit.wire.records import Json


def page(document: Row) -> str:
    """The page of an edition, from its `results.json`."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return environment.from_string(PAGE).render(
        policy=f"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'",
        style=markupsafe.Markup(STYLE),
        width=forest.WIDTH,
        words=words,
        grid=_grid(environment),
        **_contents(cast(Row, _plain(document))),
    )


def _contents(shown: Row) -> dict[str, object]:
    """Everything that the template shows, of a document whose texts are spelled out."""
    analysis, after = part_of(shown, "analysis"), part_of(shown, "after_amendments")
    effects, plan = rows_of(analysis, "effects"), part_of(shown, "plan")
    return {
        "study": shown["study"],
        "edition": shown["edition"],
        "verdicts": [
            {
                **verdict,
                "lines": (
                    *planned_parts.ruled_lines(verdict, plan, effects),
                    *parts.verdict_lines(verdict, rows_of(shown, "abandoned")),
                ),
            }
            for verdict in rows_of(analysis, "verdicts")
        ],
        "planned": planned_parts.planned_tables(plan),
        "columns": planned_parts.COLUMNS,
        "earlier": parts.earlier_table(after),
        "analyses": parts.analyses_table(shown),
        "does_not_prove": shown["does_not_prove"],
        "strata": parts.strata(rows_of(shown, "claims")),
        "plots": effect_parts.plots(effects),
        "tables": effect_parts.effect_tables(analysis, frozenset(planned_parts.read_by_rules(plan))),
        "flow": (
            *parts.flow_tables(part_of(analysis, "flow")),
            *failure_parts.failure_tables(rows_of(shown, "failures")),
            *parts.reading_tables(part_of(shown, "readings")),
        ),
        "flow_words": failure_parts.FLOW_WORDS,
        "exclusions": parts.exclusion_lines(part_of(analysis, "exclusions")),
        "amendments": parts.amendment_tables(rows_of(shown, "amendments")),
        "differing": parts.differing_table(after),
        "amended": effect_parts.amended_tables(analysis, after),
        "withdrawals": parts.withdrawal_lines(part_of(shown, "withdrawn")),
        "overhead": parts.overhead_table(part_of(analysis, "overhead")),
        "gates": parts.gate_table(shown),
        "methods": shown["methods"],
        "provenance": parts.provenance(part_of(shown, "study")),
    }


def _grid(environment: jinja2.Environment) -> Callable[[Table], markupsafe.Markup]:
    template = environment.from_string(GRID)

    def grid(table: Table) -> markupsafe.Markup:
        return markupsafe.Markup(
            template.render(caption=table.caption, heads=table.heads, rows=table.rows, right=table.right)
        )

    return grid


def _plain(value: Json) -> Json:
    """The document with every text spelled out, so that nothing in it can steer a reader's eye or terminal."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): _plain(item) for key, item in value.items()}
    return value
