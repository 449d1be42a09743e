"""A model for the example: it adds two numbers, and forgets to carry unless the prompt says to go step by step."""

from __future__ import annotations

import re

MODEL = "toy-adder-1"


def complete(system: str, question: str) -> tuple[str, int, int]:
    """The reply, and how many tokens went in and out.

    >>> complete("Answer.", "What is 17 + 25?")
    ('32', 6, 1)
    >>> complete("Go step by step.", "What is 17 + 25?")
    ('ones 12, tens 4, so 42', 9, 6)
    """
    a, b = (int(number) for number in re.findall("[0-9]+", question))
    ones, tens = a % 10 + b % 10, a // 10 + b // 10
    if "step by step" in system:
        carried = tens + ones // 10
        reply = f"ones {ones}, tens {carried}, so {10 * carried + ones % 10}"
    else:
        reply = str(10 * tens + ones % 10)
    return reply, len(f"{system} {question}".split()), len(reply.split())
