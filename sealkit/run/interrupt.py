"""Ctrl-C between records, never inside one: what is being written is finished first. SIGTERM is heard as Ctrl-C is.

with interrupts() as ctrl_c:
    with ctrl_c.held():
        ...                     # Ctrl-C waits for the end of this block
    ...                         # here it raises KeyboardInterrupt at once
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, and not what a study's own code raises under that name."""


def is_ctrl_c(error: BaseException) -> bool:
    """Whether this came from a signal, as far as it can be told where nobody listens as `interrupts` does."""
    untold = threading.current_thread() is threading.main_thread()
    untold = untold and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return isinstance(error, Interrupted) or (untold and isinstance(error, KeyboardInterrupt))


class Interrupts:
    """Knows whether Ctrl-C came, and whether it may interrupt now; `interrupts` makes one."""

    def __init__(self) -> None:
        self._holding = self._came = False

    def hear(self, number: int, frame: FrameType | None) -> None:
        """What the signal calls."""
        if not self._holding:
            raise Interrupted
        self._came = True

    @contextmanager
    def held(self) -> Iterator[None]:
        """Ctrl-C that comes inside is raised at the end; at that of the outermost, where one holds inside another."""
        before, self._holding = self._holding, True
        try:
            yield
        finally:
            self._holding = before
        if self._came and not before:
            self._came = False
            raise Interrupted


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Both signals are as `Interrupts` says meanwhile; outside the main thread, which none reaches, nothing changes.

    SIGTERM is how a scheduler stops a run: unheard it would be a kill. Who ignores it, goes on doing so.
    """
    heard = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    if before[signal.SIGTERM] is signal.SIG_IGN:
        del before[signal.SIGTERM]
    for number in before:
        signal.signal(number, heard.hear)
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started inside never hear Ctrl-C, not even while they import: the parent says when to stop."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
