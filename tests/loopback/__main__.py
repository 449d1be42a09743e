"""`python -m tests.loopback MODULE:POLICY [--faults MODULE:SCRIPT] [--log FILE]`: the endpoint in a process of its own.

It prints its address and serves until its standard input ends. Each request is one line of the log: number, method,
path, and the body as JSON.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from typing import Any

from tests.loopback.server import Loopback, Received


def named(text: str) -> Any:
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.loopback")
    parser.add_argument("policy")
    parser.add_argument("--faults")
    parser.add_argument("--log")
    options = parser.parse_args()
    log = open(options.log, "a", encoding="utf-8") if options.log else None  # noqa: SIM115  # open until the end

    def note(received: Received) -> None:
        if log is not None:
            row = {"number": received.number, "method": received.method, "path": received.path, "body": received.json}
            log.write(json.dumps(row) + "\n")
            log.flush()

    faults = named(options.faults) if options.faults else None
    with Loopback(named(options.policy), faults, log=note) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
