"""The report in Markdown as a second program reads it: any text comes out as it went in, and makes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sealkit.publish.pages.markdown import markdown
from sealkit.publish.pages.plain import plain
from tests.publish import hostile
from tests.publish.documents import synthetic

# GitHub Flavored Markdown, https://github.github.com/gfm/: CommonMark with tables and strikethrough. Its autolinks (6.9)
# are looked for below by the rules of that section.
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
LINK = re.compile(r"(?i)(?:https?|ftp)://|www\.")
ADDRESS = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9._-]+")  # found in text, after all escapes are gone
LATE = re.compile(r"@\w|#[0-9]|:(?!sha256:)[a-z]+:|:\+1:")  # mentions, issues, pictures: the same
APART = "<!-- -->"
WORD = "Zeppelin"


def told(text: str) -> Any:
    """A report in which `text` alone stands wherever a plan, an amendment or a reply can put text."""
    document = synthetic()
    for key in ("title", "question", "power"):
        document["study"][key] = text
    document["study"]["confounds"], document["does_not_prove"], document["methods"] = [text], [text, text], text
    for claim in document["claims"]:
        claim |= {"text": text, "does_not_show": text}
    for verdict in document["analysis"]["verdicts"]:
        verdict["says"] = text
    for gate in document["gates"]:
        gate["evidence"] = text
    document["withdrawn"] = {"*": text}
    return document


def read(made: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of everything that a reader makes of Markdown, neighbouring texts in one."""
    for token in READER.parse(made):
        yield token.type + token.markup[:1] * (token.type == "fence"), ""
        yield from _inside(token.children or [])


def _inside(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    text = ""
    for token in tokens:
        if token.type == "text":
            assert ADDRESS.search(token.content) is None and LATE.search(token.content) is None
            text += token.content
        elif not (token.type == "html_inline" and token.content == APART):
            yield "text", text
            yield token.type, token.content
            text = ""
    yield "text", text


ORDINARY = list(read(markdown(told(WORD))))
MARKS = "\\`*_{}[]()<>#+-.!|~&@:$/=^\"'; x1"
texts = st.lists(
    st.one_of(
        st.text(alphabet=MARKS, min_size=1, max_size=6),
        st.text(max_size=4),
        st.sampled_from([
            "http://example.org/a", "https://e.org", "HTTP://E.ORG", "www.example.org", "WWW.e.org", "ftp://e.org/x",
            "mailto:a@example.org", "xmpp:a@example.org/b", "a.b+c@example.org", "@someone", "#12", "GH-7", ":smile:",
            ":+1:", "~~gone~~", "~gone~", "**strong**", "`code`", "$x^2$", "$$x$$", "<b>", "</b>", "<!--", "-->",
            "<https://e.org>", "[a](b)", "![a](b)", "[^1]", "[a]: b", "- [ ] do", "1. one", "12) x", "> [!NOTE]", "---",
            "===", "***", "| a | b |", "|---|", "&lt;", "&#35;", "```", "~~~", "    code", "<?x", "<![CDATA[", "\\|", "\\",
        ]),
    ),
    min_size=1, max_size=5,
).map("".join)  # fmt: skip


@settings(deadline=None, max_examples=60)
@example(text=":+1:/")
@given(texts.filter(lambda text: text.strip(" ")))
def test_any_text_is_read_as_it_was_written_and_makes_nothing(text: str) -> None:
    made = markdown(told(text))
    found = list(read(made))
    assert [kind for kind, _ in found] == [kind for kind, _ in ORDINARY]
    for (_, now), (_, before) in zip(found, ORDINARY, strict=True):
        assert _squeezed(now) == _squeezed(before.replace(WORD, plain(text)))
    assert LINK.search(made) is None


def _squeezed(text: str) -> str:
    """How much white space there is, is no part of what is shown."""
    return re.sub(" +", " ", text).strip(" ")


@pytest.mark.parametrize("text", [hostile.MARKS, hostile.MARKDOWN, hostile.CONTROLS, "a@b.org, @who, #7 and :smile:"])
def test_hostile_texts_are_read_as_they_were_written(text: str) -> None:
    test_any_text_is_read_as_it_was_written_and_makes_nothing.hypothesis.inner_test(text)  # type: ignore[attr-defined]


def test_times_and_digests_are_left_alone() -> None:
    assert APART not in markdown(told("sealed 2026-11-30T12:30:00Z as sha256:5e5e, 10:20:30"))
