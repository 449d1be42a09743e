"""The benchmarks' frame, at sizes at which no figure means anything."""

from __future__ import annotations

import json

import pytest

from benchmarks import __main__ as frame
from benchmarks.clock import python, spend
from benchmarks.row import Row, table
from benchmarks.sizes import TINY

TAKE_LONG = frozenset({"cluster", "inference", "memory", "policies"})
ROWS = (
    Row("short", 1.5, "×", 2.0, "3 ms, 2 ms"),
    Row("a longer name", 123.456, "ms", 0.2, "on purpose"),
    Row("open", 7.0, "×", None, ""),
)


def test_the_table_lines_up_and_says_what_is_over() -> None:
    assert table(ROWS).splitlines() == [
        "figure          value  at most        how",
        "short           1.5 ×      2 ×  ok    3 ms, 2 ms",
        "a longer name  123 ms   0.2 ms  OVER  on purpose",
        "open              7 ×        -  ok",
    ]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in TAKE_LONG)) for name in frame.FIGURES]
)
def test_every_figure_can_be_measured(name: str) -> None:
    if name == "cluster":
        pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    for row in frame.measure(name, TINY):
        assert row.value > 0
        assert row.name and row.how


def test_a_childs_peak_is_its_own() -> None:
    ballast = bytes(range(256)) * 800_000
    assert spend(python("-c", "pass")).peak_bytes < len(ballast) / 2


def test_a_child_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match=r"exit 3\nno such study"):
        spend(python("-c", "import sys; print('no such study'); sys.exit(3)"))


def test_json_carries_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    frame.main(["chain", "append", "--json"], TINY)
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert [figure["target"] for figure in figures] == [None, 1.2]


def test_an_unknown_figure_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        frame.main(["speed"], TINY)
    assert "no figure is called speed" in capsys.readouterr().err
