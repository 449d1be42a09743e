"""Every number of a report stands in results.json, or is one that does, rounded to three places."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sealkit.publish.edition import build_edition
from sealkit.publish.pages.markdown import markdown
from sealkit.publish.pages.page import page
from sealkit.publish.pages.plain import number, p_value
from sealkit.verify.study import open_study
from sealkit.wire.canon import decode_value, encode_value
from tests.publish.documents import synthetic
from tests.studies import PLAN

_number = re.compile(r"[−-]?[0-9]+(?:\.[0-9]+)?(?![0-9a-f]{3})")
_digest = re.compile(r"(?:sha256:)?[0-9a-f]{12,64}")


class Visible(HTMLParser):
    """The text that a page shows, without the style sheet and the ticks of an axis."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self._skipped = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "style" or (tag == "text" and ("class", "tick") in attrs):
            self._skipped = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._skipped:
            self._skipped = ""

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.text.append(data)


def shown(html: str) -> str:
    reader = Visible()
    reader.feed(html)
    return " ".join(reader.text)


def numbers(text: str) -> set[str]:
    """Numbers in a text, minus signs as they are typed; digests are one thing each."""
    return {found.replace("−", "-") for found in _number.findall(_digest.sub(" ", text))}


def known(value: Any) -> set[str]:
    """Every number that stands in a document, as it is and rounded; those inside its texts too."""
    if isinstance(value, dict):
        return set().union(*(known(item) | known(key) for key, item in value.items()), set())
    if isinstance(value, list):
        return set().union(*map(known, value), set())
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, int):
        return {str(value)}
    found = numbers(value)
    if re.fullmatch(r"-?[0-9]+\.[0-9]+", value):
        found |= {number(value).replace("−", "-"), p_value(value).lstrip("<")}
    return found


def strangers(text: str, document: Any) -> set[str]:
    signless = {one.lstrip("-") for one in known(document)}
    return {one for one in numbers(text) if one.lstrip("-") not in signless}


def test_every_number_of_a_full_report_is_in_its_results() -> None:
    document = json.loads(encode_value(synthetic()))
    assert strangers(shown(page(document)), document) == set()
    assert strangers(markdown(document), document) == set()


def test_every_number_of_a_published_report_is_in_its_results(published_once: Path) -> None:
    (folder,) = (published_once / "publications").iterdir()
    document = json.loads((folder / "results.json").read_bytes())
    assert strangers(shown((folder / "report.html").read_text()), document) == set()
    assert strangers((folder / "report.md").read_text(), document) == set()


def test_a_number_that_is_not_there_is_found() -> None:
    """The test above can fail: a number put into the page, and one taken out of the results."""
    document = json.loads(encode_value(synthetic()))
    assert strangers(shown(page(document).replace("</main>", "<p>0.777</p></main>")), document) == {"0.777"}
    html = page(document)
    for row in document["analysis"]["effects"]:
        row.pop("estimate", None)
    document["analysis"]["by_pin"] = []
    document["after_amendments"]["sensitivity"] = None
    assert strangers(shown(html), document) == {"-0.043"}  # every other estimate is also a limit or a mean elsewhere


def test_reports_are_made_of_results_json_alone(published_once: Path) -> None:
    (folder,) = (published_once / "publications").iterdir()
    document: Any = decode_value((folder / "results.json").read_bytes().removesuffix(b"\n"))
    assert page(document).encode() == (folder / "report.html").read_bytes()
    assert markdown(document).encode() == (folder / "report.md").read_bytes()
    with open_study(published_once / PLAN, replay="limits") as study:
        assert (
            build_edition(study, step=lambda count: None).files["results.json"]
            == (folder / "results.json").read_bytes()
        )


@pytest.mark.parametrize(
    ("value", "due"),
    [("0.187500000000", "0.188"), ("0.062500000000", "0.062"), ("0.0005", "0.000"), ("-0.000400000000", "−0.000"),
     ("0.000000000000", "0"), ("1.000000000000", "1.000"), (0, "0"), (12, "12"), (None, "–"), ([], "–")],
)  # fmt: skip
def test_numbers_are_rounded_half_to_even_and_only_zero_is_0(value: Any, due: str) -> None:
    assert number(value) == due
    if isinstance(value, str):
        assert abs(Decimal(value) - Decimal(due.replace("−", "-"))) <= Decimal("0.0005")


@pytest.mark.parametrize(
    ("value", "due"), [("0.000499", "<0.001"), ("0.001", "0.001"), ("0.000000000000", "0"), (None, "–")]
)
def test_a_small_p_value_says_that_it_is_small(value: Any, due: str) -> None:
    assert p_value(value) == due
