"""Text that a program, a model or a stranger gave, as it may stand in a record's sentence or on a terminal.

>>> plain("a\\x1b[31mred\\u202e")
'a\\\\x1b[31mred\\\\u202e'
>>> shortened("word " * 1000)[-12:], len(shortened("word " * 1000))
('d word word…', 1000)
>>> counted(1, "file"), counted(2, "file"), counted(0, "try", "tries")
('1 file', '2 files', '0 tries')
"""

from __future__ import annotations

from typing import Final

MOST_LETTERS: Final = 1000


def plain(text: str) -> str:
    """`text` with every control, bidirectional and unassigned character spelled out, newlines too."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, most: int = MOST_LETTERS) -> str:
    """`text` in one plain line of at most `most` letters; a cut is shown."""
    line = plain(text[: most + 1])
    return line if len(line) <= most else line[: most - 1] + "…"


def counted(count: int, one: str, many: str = "") -> str:
    """So many of them, in words that agree."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"
