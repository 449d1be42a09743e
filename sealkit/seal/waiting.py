"""Takes the lock of a file, and does not wait for it in silence: it says what it waits for, and gives up in the end.

Locks are held for one append or one look at a file's size, so whoever waits long waits for a process that hangs or
was stopped. The lock is that of `flock`; it goes with the process that holds it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sys
from pathlib import Path
from time import monotonic, sleep

from sealkit.files import spell
from sealkit.wire.errors import HarnessError

SAY_AFTER_SECONDS = 1
GIVE_UP_AFTER_SECONDS = 60
_LOCKS = Path("/proc/locks")
_is_flock = re.compile(r"\d+: FLOCK +\S+ +(?:READ|WRITE) +(\d+) +[0-9a-f]+:[0-9a-f]+:(\d+) ").match


def take_lock(descriptor: int, path: Path, *, shared: bool) -> None:
    """The lock of the open file is held until it is closed; `HarnessError` if others keep it for a minute.

    After a second, standard error has a line that says what is waited for.
    """
    kind, began, told = fcntl.LOCK_SH if shared else fcntl.LOCK_EX, monotonic(), False
    while not _tried(descriptor, kind):
        waited = monotonic() - began
        if waited >= GIVE_UP_AFTER_SECONDS:
            raise HarnessError(
                f"locked for {GIVE_UP_AFTER_SECONDS} s by {_holder(descriptor)}",
                where=spell(path),
                remedy="end that process, or wait until it has ended, and run this again: nothing recorded is lost",
            )
        if waited >= SAY_AFTER_SECONDS and not told:
            told = True
            what = f"{spell(path)}: waiting for its lock, which {_holder(descriptor)} holds"
            print(f"sealkit: {what}; at most {GIVE_UP_AFTER_SECONDS} s", file=sys.stderr, flush=True)
        sleep(0.01 if waited < SAY_AFTER_SECONDS else 0.1)


def _tried(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise
        return False
    return True


def _holder(descriptor: int) -> str:
    """Who holds the lock, as far as this system tells."""
    inode = os.fstat(descriptor).st_ino
    try:
        lines = _LOCKS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        lines = []
    found = [match[1] for line in lines if (match := _is_flock(line)) is not None and int(match[2]) == inode]
    if not found:
        return "another sealkit or a program that looks into the study"
    return f"process {found[0]}, perhaps another sealkit,"
