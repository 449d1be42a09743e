"""What commands print: tables that line up, `--json` for machines, and nothing of a model's that a terminal obeys."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from sealkit.wire.errors import UsageError
from sealkit.wire.records import Json
from sealkit.wire.text import plain

if TYPE_CHECKING:  # most commands call no model, and start sooner without it
    from sealkit.agents.models.budget import Spent

MOST_REASON = 500
F = TypeVar("F", bound=Callable[..., object])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")


def one_line(reason: str, *, option: str) -> str:
    """A reason that is published; `UsageError` if it says nothing, is more than one line of text, or holds a key."""
    from sealkit.agents.models.secrets import refuse_keys  # most commands take no reason, and start sooner without it

    refuse_keys(reason.encode(errors="replace"), os.environ, where=option)
    if not reason.strip() or not reason.isprintable() or len(reason) > MOST_REASON:
        what = f"found {reason[:60]!a}, due one line of text"
        raise UsageError(what, where=option, remedy="say in one line why; it is published")
    return reason


def print_json(value: Json) -> None:
    """One JSON document, keys sorted, ending in a newline."""
    import json  # most commands print text, and start sooner without it

    click.echo(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=True))


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """A table whose columns line up; columns numbered in `right` are set flush right."""
    cells = [list(heads), *([escape(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for number, row in enumerate(cells):
        line = "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        click.echo(f"  {click.style(line, bold=True) if number == 0 else line}")


def without_empty(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """The same table without the columns that say nothing in any row.

    >>> without_empty(("arm", "why", "n"), [("A", "", "1"), ("B", "", "2")])
    (['arm', 'n'], [['A', '1'], ['B', '2']])
    """
    kept = [i for i in range(len(heads)) if not rows or any(row[i] for row in rows)]
    return [heads[i] for i in kept], [[row[i] for i in kept] for row in rows]


def heading(words: str) -> None:
    """A line that opens a part of the output."""
    click.echo(f"\n{click.style(words, bold=True)}")


escape = plain


def complain(what: str, remedy: str = "") -> None:
    """One message on standard error; whatever a file or a model put into it, a terminal shows it and does not obey."""
    message = f"sealkit: {what}; {remedy}" if remedy else f"sealkit: {what}"
    click.echo("\n".join(escape(line) for line in message.split("\n")), err=True)


def cost_in_words(microusd: int, *, priced: bool) -> str:
    """What calls cost by the plan's prices, `priced` if it has one for every model that was asked.

    >>> cost_in_words(0, priced=False)
    'cost unknown: the plan gives a model no price'
    """
    known = f"{microusd} micro-USD"
    if priced:
        return known
    return f"{f'{known} and ' if microusd else ''}cost unknown: the plan gives a model no price"


class Progress:
    """Counts, rate and time left on standard error, only where someone looks: on a terminal."""

    def __init__(self, label: str, total: int) -> None:
        self._clock = time.monotonic
        self._label, self._total, self._done, self._before = label, total, 0, 0
        self._spent: Spent | None = None
        self._started = self._last = self._clock()
        self._live = sys.stderr.isatty() and total > 0

    def begin(self, done: int) -> None:
        """So many were done before this began; they say nothing of the rate."""
        self._done = self._before = done

    def turn_to(self, label: str, total: int, done: int) -> None:
        """What follows is called so; of `total`, so many are done before it, and say nothing of the rate."""
        self._label, self._total, self._done, self._before = label, total, done, done
        self._started = self._last = self._clock()
        self._live = self._live or (sys.stderr.isatty() and total > 0)

    def step(self, count: int = 1) -> None:
        """`count` more are done."""
        self._done += count
        self._show()

    def use(self, spent: Spent | None) -> None:
        """So many calls, tokens and micro-USD are used by now."""
        if spent is not None:
            self._spent = spent
            self._show()

    def _show(self) -> None:
        now = self._clock()
        if self._live and (now - self._last > 0.1 or self._done == self._total):
            self._last = now
            click.echo(f"\r\x1b[K{self.words(now)} ", nl=False, err=True)

    def warn(self, words: str) -> None:
        """Say this on a line of its own, to whoever reads standard error."""
        self.end()
        click.echo(escape(words), err=True)

    def words(self, now: float) -> str:
        """The line that is shown at `now`: counts, rate and time left, never an outcome."""
        new = self._done - self._before
        rate = new / max(now - self._started, 1e-6)
        left = f"{(self._total - self._done) / rate:.0f} s left" if new else "time left not known yet"
        pace = f"{rate:.0f}/s" if rate >= 1 or not new else f"{rate * 60:.1f}/min"
        return "  ".join((f"{self._label}: {self._done}/{self._total}", *_used(self._spent), pace, left))

    def end(self) -> None:
        """Clear the line."""
        if self._live:
            click.echo("\r\x1b[K", nl=False, err=True)


def _used(spent: Spent | None) -> Iterator[str]:
    if spent is not None:
        yield f"{spent.calls:,} calls"
        yield f"{spent.tokens:,} tokens"
        if spent.cost_microusd:
            yield f"{spent.cost_microusd / 1_000_000:.2f} USD"


def plan_argument(function: F) -> F:
    """The argument PLAN: a path to plans/NAME.yaml; the only plan of the study if none is given."""
    return click.argument("plan", type=click.Path(path_type=Path), required=False, callback=_plan)(function)


def spelled(value: Path) -> Path:
    """The path as `plans/NAME.yaml` where that is what it is from here, else in full: messages name it so."""
    full = os.path.abspath(value)
    near = Path(os.path.relpath(full))
    return near if near.parent == Path("plans") else Path(full)


def _plan(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path:
    if value is not None:
        return spelled(value)
    plans = sorted(Path("plans").glob("*.yaml"))
    if len(plans) == 1:
        return plans[0]
    found = f"{len(plans)} plans in plans/" if plans else "no plan in plans/"
    raise UsageError(f"which plan? there are {found}", remedy=f"sealkit {ctx.info_name} plans/NAME.yaml")
