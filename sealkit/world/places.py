"""Where the study's own code raised: its file and line, so that whoever wrote it need not look for them.

    raise HarnessError(f"the world or its agent {raised(error)}")

A path is told from the study on. Nothing else of the traceback is: failures are published, and it names this machine.
"""

from __future__ import annotations

import traceback
from typing import Final

PRIVATE: Final = "sealkit_study."  # what the modules of a study are called, by `world.loader`


def raised(error: BaseException) -> str:
    """`raised ValueError: boom`, and the last file and line of the study's own code that it came through, if any.

    >>> study = {"__name__": "sealkit_study.arms.mine", "__builtins__": __builtins__}
    >>> try:
    ...     exec(compile("\\nint('x')", "/study/arms/mine/__init__.py", "exec"), study)
    ... except ValueError as error:
    ...     raised(error)
    "raised ValueError: invalid literal for int() with base 10: 'x' (arms/mine/__init__.py, line 2)"
    """
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith(PRIVATE):
            place = f" ({_in_the_study(module, frame.f_code.co_filename)}, line {line})"
    return f"raised {type(error).__name__}: {error}{place}"


def _in_the_study(module: str, path: str) -> str:
    folder = "/".join(module.removeprefix(PRIVATE).split(".")[:2])
    _, found, rest = path.rpartition(f"/{folder}/")
    return f"{folder}/{rest}" if found else folder
