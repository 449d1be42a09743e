"""Calls of the command line in a process of their own, with little time and little memory.

A process that has imported sealkit forks for each call, so that a call costs no start of Python. What the call
may take on top of what is loaded: 256 MiB of address space and ten seconds of CPU time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from tests.studies import ROOT, Outcome

MEMORY = 256 << 20
CPU_SECONDS = 10

_NURSERY = """
import json, os, resource, sys
import sealkit.cli.verify
from sealkit.cli import main
from sealkit.seal.seal import make_seal

def occupied():
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 4 << 30

for line in sys.stdin:
    call = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(call["folder"])
        for number, name in ((0, os.devnull), (1, call["out"]), (2, call["err"])):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
        resource.setrlimit(resource.RLIMIT_AS, (occupied() + call["memory"],) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (call["seconds"],) * 2)
        os.environ["SEALKIT_TRACEBACK"] = "1"
        sys.argv = ["sealkit", *call["arguments"]]
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Limited:
    """Makes limited calls; `limited` opens one."""

    def __init__(self, nurse: subprocess.Popen[str]) -> None:
        self._asks, self._answers = cast(IO[str], nurse.stdin), cast(IO[str], nurse.stdout)

    def call(self, *arguments: str | Path, cwd: Path) -> Outcome:
        """Call the command line in the folder `cwd`; a negative code is the signal that ended it."""
        out, err = cwd.with_name("said.out"), cwd.with_name("said.err")
        for path in (out, err):
            path.unlink(missing_ok=True)
        call = {
            "folder": str(cwd), "out": str(out), "err": str(err), "memory": MEMORY, "seconds": CPU_SECONDS,
            "arguments": [*map(str, arguments)],
        }  # fmt: skip
        self._asks.write(json.dumps(call) + "\n")
        self._asks.flush()
        code = int(self._answers.readline())
        return Outcome(code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))


@contextmanager
def limited() -> Iterator[Limited]:
    """Limited calls, for as long as this is open."""
    with subprocess.Popen(
        [sys.executable, "-c", _NURSERY], env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as nurse:  # fmt: skip
        try:
            yield Limited(nurse)
        finally:
            cast(IO[str], nurse.stdin).close()
