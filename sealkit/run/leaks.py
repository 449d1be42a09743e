"""Keys that a study's own code could give away: out of its sight while it plays, and looked for in all that it leaves.

    with keys_apart() as keys:
        endpoints = read_endpoints(..., environ=keys)
        ...                                         # os.environ has none meanwhile, nor has a process that is started

On Linux the environment that this process was started with is in /proc/PID/environ for as long as it lives: there each
value is overwritten with dots. Its memory is closed to other programs of the same user, unless they have root's rights.

Code in the same process could still find a key elsewhere in memory. So every outcome of an attempt or a reading passes
`unleaked` before it is recorded or told.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from sealkit.agents.models.secrets import Watch, key_variables
from sealkit.run.outcome import Broke, CutOff, Kept, Outcome, Said
from sealkit.wire.canon import encode_value

_NOT_KEPT = "what looks like a key; it is not kept"


_GET_DUMPABLE, _SET_DUMPABLE = 3, 4  # of prctl(2)


def take_keys(*, but: Collection[str] = ()) -> dict[str, str]:
    """The variables that hold keys for endpoints, `but` for these; they are not in this process's environment now."""
    names = [name for name in key_variables(os.environ) if name not in but]
    for name in names:
        _blot_out(name)
    return {name: os.environ.pop(name) for name in names}


@contextmanager
def keys_apart(*, but: Collection[str] = ()) -> Iterator[Mapping[str, str]]:
    """The variables that hold keys, `but` for these, which are not in this process's environment meanwhile."""
    keys, before = take_keys(but=but), close_memory()
    try:
        yield keys
    finally:
        os.environ.update(keys)
        if before:
            ctypes.CDLL(None).prctl(_SET_DUMPABLE, before, 0, 0, 0)


def close_memory() -> int:
    """No other process without root's rights can read this one's memory after this; whether one could before.

    0 on systems other than Linux, where nothing is done.
    """
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None)
    before = int(libc.prctl(_GET_DUMPABLE, 0, 0, 0, 0))
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    return before


def _blot_out(name: str) -> None:
    """Dots stand where the C library has this variable's value: at first, that is the block that /proc shows."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    at = libc.getenv(name.encode())
    if at:
        ctypes.memset(at, ord("."), len(ctypes.string_at(at)))


def unleaked(outcome: Outcome, watch: Watch) -> Outcome:
    """The outcome, without what looks like a key: an episode or a reading that holds one broke."""
    if isinstance(outcome, Kept):
        leaks = watch.found_in(outcome.line)
        return Broke("harness_error", f"the episode holds {_NOT_KEPT}", outcome.calls) if leaks else outcome
    if isinstance(outcome, Said):
        leaks = watch.found_in(encode_value(outcome.said))
        return Broke("harness_error", f"what was read holds {_NOT_KEPT}", outcome.calls) if leaks else outcome
    if isinstance(outcome, Broke | CutOff) and watch.found_in(outcome.why.encode(errors="replace")):
        outcome = replace(outcome, why=f"the message holds {_NOT_KEPT}")
        return replace(outcome, error=None) if isinstance(outcome, CutOff) else outcome
    return outcome
