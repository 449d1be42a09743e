"""The page: what it shows first, what it may load (nothing), and that it obeys no text that it shows."""

from __future__ import annotations

import base64
import copy
import hashlib
import html
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sealkit.publish.pages.markdown import markdown
from sealkit.publish.pages.page import page
from sealkit.publish.pages.parts import STRATA
from sealkit.publish.pages.plain import plain
from sealkit.publish.pages.style import STYLE
from tests.publish import hostile
from tests.publish.documents import STATUSES, synthetic

# What a page of ours is made of; anything else came in through a text.
TAGS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "section",
        "h1",
        "h2",
        "p",
        "ul",
        "li",
        "span",
        "strong",
        "code",
        "figure",
        "figcaption",
        "div",
        "svg",
        "line",
        "circle",
        "text",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    ]
)
ATTRIBUTES = frozenset(
    [
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "id",
        "class",
        "viewbox",
        "role",
        "aria-label",
        "tabindex",
        "x",
        "x1",
        "x2",
        "y",
        "y1",
        "y2",
        "dy",
        "cx",
        "cy",
        "r",
        "text-anchor",
    ]
)


class Reader(HTMLParser):
    """The tags and attributes of a page, and the text of its sections by id."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.policy = ""
        self.styles: list[str] = []
        self.open: list[str] = []
        self.sections: dict[str, str] = {}
        self.headings: list[str] = []
        self._section = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        if tag == "section":
            self._section = given.get("id") or ""
        if tag == "h2":
            self.headings.append("")
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag  # everything is closed in order: no text broke out

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles.append(data)
        if self.open and self.open[-1] == "h2":
            self.headings[-1] += data
        self.sections[self._section] = self.sections.get(self._section, "") + data


def check_safe(html: str) -> Reader:
    """Nothing but our own tags, nothing that loads, runs or styles."""
    found = Reader(html)
    assert found.open == []
    assert found.tags <= TAGS, found.tags - TAGS
    assert found.attributes <= ATTRIBUTES, found.attributes - ATTRIBUTES
    assert found.styles == [STYLE]
    assert "url(" not in STYLE and "@import" not in STYLE
    return found


def everywhere(text: str) -> Any:
    """The full document with every free text, and every name of an arm or ending, replaced or followed by `text`."""
    document = synthetic()

    def replace(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: replace(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [replace(item, key) for item in value]
        free = {"title", "question", "text", "does_not_show", "why", "says", "reason", "changed", "effect_", "methods", "power",
                "evidence", "confounds", "does_not_prove", "last", "meaning", "rule", "not_estimable", "notes", "environment"}  # fmt: skip
        return f"{value} {text}" if key in free and isinstance(value, str) else value

    document = replace(document)
    flow = document["analysis"]["flow"]
    flow[f"third {text}"] = copy.deepcopy(flow["third"])
    flow["plus"]["ended"][f"ended {text}"] = 1
    flow["plus"]["excluded"][f"origin {text}"] = 1
    document["withdrawn"][f"claim {text}"] = text
    return document


# --- what it shows -------------------------------------------------------------------------------


def test_verdicts_and_what_they_do_not_show_come_first() -> None:
    found = check_safe(page(synthetic()))
    assert found.headings[0] == "Verdicts, and what they do not show"
    after = ["From scheduled slots to outcomes", "Amendments", "Overhead", "Gates", "Methods", "Check it yourself"]
    assert found.headings[-6:] == after
    first = found.sections["verdicts"]
    assert first.index("Not shown, whatever the verdicts") > first.index("not estimable")
    assert "Of 60 other bootstrap seeds, 26 give this verdict, so the seed decides." in first
    assert "The exact bootstrap law gives supported." in first and "Tango's interval gives the same verdict." in first
    assert "With every missing outcome at its worst: not shown; at its best: supported." in first


@pytest.mark.parametrize("make", [page, markdown])
def test_a_report_says_what_each_effect_is_and_prints_all_rules(make: Callable[[Any], str]) -> None:
    text = re.sub(r"\\(.)", r"\1", html.unescape(make(synthetic())))
    assert "Rules, read from the top: supported if e.lower >= 0; else not shown." in text  # of a verdict not shown too
    assert "There e is arm plus minus arm minus on success in population all (n = 32)." in text
    assert "more is effect e minus effect third on success" in text
    assert "one is arm plus alone on success in population all" in text
    for said in ("What each effect is", "noninferiority 0.1: less than this nobody notices", "family: x, z",
                 "Arms, as the plan has them", "scripted naive", "kind binary", "better higher", "primary",
                 "b: the pairs in which the plus side alone has the better value"):  # fmt: skip
        assert said in text, said


@pytest.mark.parametrize("make", [page, markdown])
def test_effects_that_no_rule_reads_stand_apart(make: Callable[[Any], str]) -> None:
    document = synthetic()
    assert "Effects that no rule reads" not in make(document)
    for row in document["plan"]["reads"]:
        row["ruling"] = row["effect"] != "steps"
    made = make(document)
    read, unread = made.index("Effects that the rules read"), made.index("Effects that no rule reads")
    rest = made.index("With every missing outcome against", unread)
    assert "steps" not in re.sub(r"e:|\(.*?\)", "", made[read:unread]) and "steps" in made[unread:rest]
    document["analysis"]["reported"] = [
        row for row in document["analysis"]["effects"] if row["effect"] in ("e", "steps")
    ]
    repeated = make(document)
    assert "Effects that no rule reads" not in repeated  # it stands once, among what is reported beside
    assert "steps, effects, reported beside and read by no rule" in repeated
    assert "success, effects, reported beside" not in repeated


@pytest.mark.parametrize("make", [page, markdown])
def test_an_interval_without_width_is_said_at_the_verdict(make: Callable[[Any], str]) -> None:
    document = synthetic()
    for row in document["analysis"]["effects"]:
        if row["effect"] == "e":
            row["notes"] = ["the interval has no width"]
    made = make(document)
    beware = made.index("Beware, e on success: the interval has no width.")
    assert beware < made.index("Not shown, whatever the verdicts")


@pytest.mark.parametrize("make", [page, markdown])
def test_a_claim_that_rests_on_another_verdict_says_so_beside_supported(make: Callable[[Any], str]) -> None:
    made = make(synthetic())
    assert "supported, by E on success not shown" in re.sub(r"\\(.)", r"\1", html.unescape(made))


def test_strata_are_kept_apart() -> None:
    found = check_safe(page(synthetic()))
    claims = [heading.removeprefix("Claims: ") for heading in found.headings if heading.startswith("Claims: ")]
    assert claims == [title for name, title in STRATA.items() if name != "instrument"]
    document = synthetic()
    document["claims"][0]["status"] = "contradicted"
    again = check_safe(page(document)).headings
    assert (
        "Claims: instrument behaviour, not validated" in again and "Claims: validated instrument behaviour" not in again
    )
    html = page(synthetic())
    for status in STATUSES:
        assert f'<span class="status {status}">{status.replace("_", " ")}</span>' in html


def test_an_unmeasured_need_says_so_and_is_never_0() -> None:
    text = check_safe(page(synthetic())).sections[""]
    assert "L supported: found not measured" in text


def test_effects_show_n_b_and_c_and_what_is_missing() -> None:
    text = check_safe(page(synthetic())).sections["effects"]
    assert "e: 0.188 (−0.031 to 0.375), n = 32, b = 9, c = 3" in text
    assert "6 without an outcome; 1 resting on a stand-in; margin 0.1, noninferiority, p 0.016" in text
    assert "0 of 16 cells have a value" in text
    assert "With every missing outcome against the predicted direction, and for it" in text
    assert "16 of 60" in text  # seeds with the same limits
    assert "mcnemar exact" in text


def test_the_flow_keeps_every_way_apart_and_says_whether_arms_lost_alike() -> None:
    text = check_safe(page(synthetic())).sections["flow"]
    for head in ("slots", "attempted", "abandoned", "failed", "episodes", "admitted", "excluded: boundary", "errored",
                 "missing", "no outcome", "outcomes", "counted as failure"):  # fmt: skip
        assert head in text
    assert "exceeded in minus, plus, third: claims are withheld" in text
    assert "third - minus, share of slots excluded or errored: 4 of 48 against 16 of 48, difference −0.250" in text


def test_the_flow_says_what_its_words_mean_and_why_tries_failed() -> None:
    document = synthetic()
    text = check_safe(page(document)).sections["flow"]
    assert "Missing: no episode was left at the slot" in text and "Errored: there is an episode" in text
    assert "harness error10no such file: ask.py" in text
    document["failures"] = []
    assert "Tries that ended without an episode, and" not in page(document) + markdown(document)


def test_amendments_stand_on_their_side_of_the_first_look() -> None:
    text = check_safe(page(synthetic())).sections["amendments"]
    before, after = text.split("After the first look at outcomes")
    assert "the parser dropped the last line of a reply" in before and "hypothesis E had the wrong sign" in after
    assert "first episodes" in after and "code of pin 0123456789ab" in after
    assert "From the episodes under pin" in after
    assert "Withdrawn, claim it-is-withheld: the world does not stand" in after
    document = synthetic()
    document["amendments"], document["withdrawn"] = [], {}
    assert "None: plan, code and scenarios" in check_safe(page(document)).sections["amendments"]


def test_gates_are_open_or_closed_with_their_evidence() -> None:
    text = check_safe(page(synthetic())).sections["gates"]
    assert "CLOSED" in text and "the sealed source was not run again" in text
    assert "forks isolated" in text and "the plan does not name it: nothing was decided" in text


def test_many_effects_go_into_several_plots_and_none_is_left_out() -> None:
    document = synthetic()
    (effect,) = (row for row in document["analysis"]["effects"] if row["effect"] == "e")
    document["analysis"]["effects"] = [{**effect, "effect": f"e{place}"} for place in range(95)]
    html = page(document)
    assert html.count("<svg") == 3
    assert all(f">e{place}: 0.188" in html for place in range(95))


def test_every_interval_lies_inside_its_plot() -> None:
    for x in re.findall(r'<line class="reach" x1="([^"]+)" x2="([^"]+)"', page(synthetic())):
        assert all(0 <= float(end) <= 720 for end in x), x


def test_an_edition_with_nothing_but_its_head_can_be_shown() -> None:
    document = synthetic()
    document["analysis"] = {"flow": {}, "effects": [], "verdicts": []}
    document["claims"], document["gates"], document["amendments"] = [], [], []
    document["after_amendments"], document["withdrawn"] = {}, {}
    check_safe(page(document))
    assert markdown(document).startswith("# ")


# --- what it may do ------------------------------------------------------------------------------


def test_the_policy_allows_the_style_sheet_and_nothing_else() -> None:
    html = page(synthetic())
    policy = check_safe(html).policy
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert html.index("Content-Security-Policy") < html.index("<style>")  # a policy rules what comes after it
    assert "http:" not in html and "https:" not in html
    assert " style=" not in html and "<script" not in html


@pytest.mark.parametrize(
    "text", [hostile.MARKS, hostile.MARKDOWN, hostile.CONTROLS, hostile.LONG, "'\"`=<>&", hostile.EVERY]
)
def test_no_text_breaks_out_of_the_page(text: str) -> None:
    html = page(everywhere(text))
    found = check_safe(html)
    assert plain(text)[:200].strip() in "".join(found.sections.values())
    assert all(c.isprintable() or c == "\n" for c in html)


@pytest.mark.parametrize("make", [page, markdown])
def test_no_control_reaches_a_reader(make: Callable[[Any], str]) -> None:
    for c in ("\x1b", "\u202e", "\u2028", "\x07", "\x85", "\u200b", "\r", "\x00"):
        made = make(everywhere(f"a{c}b"))
        assert c not in made
        assert f"a{c.encode('unicode_escape').decode()}b" in made.replace("\\\\", "\\")


# --- Markdown ------------------------------------------------------------------------------------


def unescaped(text: str, marks: str) -> set[str]:
    """Marks in `text` that no backslash stands before."""
    return {
        c
        for place, c in enumerate(text)
        if c in marks and (len(text[:place]) - len(text[:place].rstrip("\\"))) % 2 == 0
    }


def test_markdown_obeys_no_text() -> None:
    made = markdown(everywhere(hostile.EVERY))
    ours = markdown(synthetic())
    for line in made.split("\n"):
        if "longer and longer" in line:
            foreign = line[line.index("alert(1)") - 10 :] if "alert(1)" in line else line
            assert unescaped(foreign.replace("<!-- -->", ""), "<>[]~&#$") == set()
    assert re.search(r"(?<!\\)\]\(", made) is None
    assert re.search(r"(?<!\\)://|(?<!w)www\.", made) is None
    assert made.count("\n## ") == ours.count("\n## ")
    tables = [line for line in made.split("\n") if line.startswith("| ")]
    assert {unescaped_cells(line) for line in tables} <= {unescaped_cells(line) for line in ours.split("\n") if line.startswith("| ")} | {
        unescaped_cells(line) + 1 for line in ours.split("\n") if line.startswith("| ")}  # fmt: skip


def unescaped_cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)(?:\\\\)*\|", line))


@pytest.mark.parametrize(
    "text", ["- item", "1. one", "12) twelve", "+ plus", "=== rule", "    code", "\tcode", "# head", "~~~"]
)
def test_no_text_begins_a_block(text: str) -> None:
    document = synthetic()
    document["study"]["question"] = text
    line = markdown(document).split("\n")[2]
    assert not re.match(r"( {4}|\t|[-+=#~]|[0-9]+[.)])", line), line
    assert "\\" in line or text.strip() == line


# --- a whole study with such texts ----------------------------------------------------------------


def test_a_published_study_with_hostile_texts_is_safe(held_once: Path) -> None:
    (folder,) = (held_once / "publications").iterdir()
    found = check_safe((folder / "report.html").read_text())
    assert hostile.LONG[:3000].rstrip() in found.sections[""]
    assert "<script>alert(1)</script>" in found.sections["verdicts"]  # as text
