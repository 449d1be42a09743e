"""What each family may edit: its own statement, apart from the code that makes forks.

For each family and variant: patterns of `stage op path` with how many edits of that pattern there may be. Every edit
has to fit one, and no pattern may be used more often. `MANY`: as many as there are receipts or acts.
"""

from __future__ import annotations

from collections.abc import Mapping

_NOTICE = r"/acts/\d+/segments/\d+"
_OPS = r"/acts/\d+/deltas/\d+/ops"
_DELTA = r"/acts/\d+/deltas/\d+"
_RECEIPT = r"/receipts/\d+"
_STEPS = r"/acts/\d+/memory/sealkit~1execution~1v1/steps"
MANY = 10**6

Allowed = Mapping[str, int]

_AGAIN: Allowed = {f"executed add {_DELTA}": 1, f"executed add {_RECEIPT}": 1, f"executed add {_NOTICE}": 1}
_ELSEWHERE: Allowed = {
    f"executed remove {_DELTA}": 1,
    f"executed add {_DELTA}": 1,
    f"executed remove {_NOTICE}": 1,
    f"executed add {_NOTICE}": 1,
    f"executed replace {_RECEIPT}/projection/act": 1,
    f"executed replace {_RECEIPT}/boundary/applied": 1,
}
_OTHER_EFFECT: Allowed = {f"executed replace {_OPS}": 1}
_DECLARED: Allowed = {f"recorded replace {_OPS}": 1, f"recorded replace {_RECEIPT}/roots": 1}
_WORDS: Allowed = {f"recorded replace {_NOTICE}/text": 1}
_SHOWN_DIGEST: Allowed = {f"recorded replace {_RECEIPT}/projection/digest": 1}
_READING: Allowed = {f"recorded replace {_NOTICE}/(value|text)": 2}

ALLOWED: Mapping[str, Allowed] = {
    "M1.truth": {f"recorded replace {_RECEIPT}/roots/after": 1, f"recorded replace {_RECEIPT}/roots/moved": 1},
    "M1.repeats": {r"recorded replace /acts/\d+/root": 1},
    "M2.truth": _WORDS,
    "M2.repeats": {**_WORDS, **_SHOWN_DIGEST},
    "M3.truth": {
        f"recorded replace {_NOTICE}/(sender|channel|rung)": 1,
        f"recorded replace {_RECEIPT}/projection/(sender|channel|authority)": 1,
    },
    "M3.repeats": {f"recorded replace {_NOTICE}/(sender|channel|rung)": 1},
    "M4.truth": _AGAIN,
    "M4.repeats": _AGAIN,
    "M5.truth": {f"recorded remove {_RECEIPT}": 1},
    "M5.repeats": {f"recorded remove {_RECEIPT}": 1, "recorded replace /closing/counts/occurrences": 1},
    "M6.truth": {f"recorded replace {_RECEIPT}/previous": 1},
    "M6.repeats": {f"recorded replace {_RECEIPT}/previous": 1},
    "M7.truth": {r"recorded replace /acts/\d+/root": 1, f"recorded replace {_RECEIPT}/roots/after": 1},
    "M7.repeats": {r"recorded replace /acts/\d+/root": 1},
    "M8.truth": _ELSEWHERE,
    "M8.repeats": {**_ELSEWHERE, f"executed replace {_RECEIPT}/boundary/due": 1},
    "F1.truth": _OTHER_EFFECT,
    "F1.repeats": {**_OTHER_EFFECT, **_DECLARED},
    "F2.truth": _AGAIN,
    "F2.repeats": {**_OTHER_EFFECT, **_DECLARED},
    "F3.truth": _OTHER_EFFECT,
    "F3.repeats": {**_OTHER_EFFECT, **_DECLARED},
    "F4.truth": _ELSEWHERE,
    "F4.repeats": {
        f"executed remove {_DELTA}": 1,
        f"executed add {_DELTA}": 1,
        f"recorded remove {_DELTA}": 1,
        f"recorded add {_DELTA}": 1,
        f"recorded replace {_RECEIPT}/roots": 1,
    },
    "F5.truth": {f"recorded replace {_STEPS}": 1},
    "F5.repeats": _READING,
    "F6.truth": {f"recorded remove {_NOTICE}": 1, f"recorded replace {_RECEIPT}/projection": 1},
    "F6.repeats": {f"recorded remove {_NOTICE}": 1},
    "F7.truth": {f"recorded add {_NOTICE}": 1},
    "F7.repeats": {f"recorded add {_NOTICE}": 1, f"recorded replace {_RECEIPT}/projection/act": 1},
    "F8.truth": {**_READING, f"recorded add {_NOTICE}": 1},
    "F8.repeats": {**_READING, **_SHOWN_DIGEST},
    "F9.truth": {
        f"recorded replace {_NOTICE}/(rung|sender)": 2,
        f"recorded replace {_RECEIPT}/projection/(authority|sender)": 2,
    },
    "F9.repeats": {f"recorded replace {_NOTICE}/(rung|sender)": 2},
    "F10.truth": {r"start replace /.+": 1, f"executed replace {_OPS}": 1},
    "F10.repeats": {
        r"start replace /.+": 1,
        f"executed replace {_OPS}": 1,
        f"recorded replace {_OPS}": 1,
        "recorded replace /genesis": 1,
    },
    "F11.truth": {f"recorded replace {_STEPS}": 1},
    "F11.repeats": {r"executed replace /acts/\d+/delta": 1},
    "F12.truth": {"recorded replace /closing/root": 1},
    "F12.repeats": {"recorded replace /closing/judged": 1},
    "F13a.truth": {
        r"recorded remove /acts/\d+": MANY,
        "recorded replace /closing/root": 1,
        "recorded replace /closing/ended": 1,
    },
    "F13a.repeats": {
        r"recorded remove /acts/\d+": MANY,
        "recorded replace /closing/root": 1,
        "recorded replace /closing/counts/acts": 1,
    },
    "F13b.truth": {"recorded replace /slot": 1},
    "F13b.repeats": {"recorded replace /acts/0/prev": 1, f"recorded replace {_RECEIPT}/episode": MANY},
    "X1.only": {
        **_OTHER_EFFECT,
        "recorded replace /scenario": 1,
        f"recorded replace {_RECEIPT}/contract/digest": 1,
    },
    "X3.only": _WORDS,
    "X4.only": {r"recorded add /acts/\d+/memory/context": 1},
}
