"""Texts that a page, a Markdown reader or a terminal would obey, if they were passed on as they are."""

from __future__ import annotations

MARKS = "<script>alert(1)</script><img src=x onerror=alert(2)> ]]> --> &amp;lt; {{ 7 * 7 }} {% raw %}"
MARKDOWN = (
    "**bold** [link](https://example.org/x) ![i](//example.org/i.png) `code` | cell | # head ~~struck~~ www.example.org"
)
CONTROLS = "\x1b[31mred\x1b[0m \u202eabc\u202c \u2028 \x07 \u200b \u0085 tab\there"
LONG = "longer and longer " * 200 + "w" * 3000
EVERY = f"{MARKS} {MARKDOWN} {CONTROLS} {LONG}"


def quoted(text: str) -> str:
    """`text` as a YAML scalar. A plan refuses controls; everything else it takes."""
    return "'" + text.replace("'", "''") + "'"


TITLE = quoted(f"Title {MARKS} {MARKDOWN}")
CLAIM = quoted(f"Claim {MARKDOWN} {LONG}")
SAYS = quoted(f"Says {MARKS} {MARKDOWN}")
