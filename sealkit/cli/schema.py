"""`sealkit schema [KIND]`."""

from __future__ import annotations

from typing import cast

import click

from sealkit.cli.out import print_json
from sealkit.plan.schema import plan_schema
from sealkit.seal.schemas import seal_schemas
from sealkit.wire.errors import UsageError
from sealkit.wire.recorded import Answer
from sealkit.wire.records import Json
from sealkit.wire.schemas import record_schema, record_schemas


@click.command("schema")
@click.argument("kind", required=False)
def command(kind: str | None) -> None:
    """Print the JSON Schema of a plan or of one kind of record; without KIND, the kinds.

    \b
    Examples:
      sealkit schema plan > plan.schema.json
      sealkit schema episode
      sealkit schema answer       what a command of an external world writes
    """
    written = {"answer": record_schema(Answer)} | record_schemas() | seal_schemas()
    schemas = {"plan": plan_schema(), **dict(sorted(written.items()))}
    if kind is None:
        click.echo("\n".join(schemas))
    elif kind in schemas:
        print_json(cast(Json, schemas[kind]))
    else:
        raise UsageError(f"there is no kind {kind!r}; there are {', '.join(schemas)}", remedy="sealkit schema")
