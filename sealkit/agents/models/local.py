"""A llama.cpp server on this machine, for as long as a demo lasts: `make demo-model` installs what it needs.

It listens on the loopback address alone, at a port that is free, and ends with whoever started it.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from sealkit.wire.errors import HarnessError, UsageError

CONTEXT: Final = 8192  # tokens: a prompt of the house has about 900, one of Study B's desk with tools up to 4,000
_START_S: Final = 120.0
_LOOK_S: Final = 0.2


@contextmanager
def serving(model: Path, *, name: str, log: Path) -> Iterator[str]:
    """The address of a server of the GGUF file `model`, which answers under `name`; what it prints is kept in `log`.

    `UsageError` without the file or the server's package, `HarnessError` if it does not start.
    """
    if not model.is_file():
        raise UsageError("there is no such model file", where=str(model), remedy="make demo-model fetches one")
    if importlib.util.find_spec("llama_cpp") is None:
        raise UsageError("the package llama-cpp-python is not installed", remedy="make demo-model")
    port = _free_port()
    command = [
        sys.executable, "-m", "sealkit.agents.models.local_server", "--model", str(model), "--model_alias", name,
        "--host", "127.0.0.1", "--port", str(port), "--n_ctx", str(CONTEXT), "--n_threads", str(os.cpu_count() or 1),
    ]  # fmt: skip
    with log.open("wb") as words:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=words, stderr=words)
        try:
            _wait(server, port, log)
            yield f"http://127.0.0.1:{port}/v1#llama"
        finally:
            server.kill()
            server.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return once the server answers."""
    opener = build_opener(ProxyHandler({}))  # no proxy has a say on this machine
    ends = time.monotonic() + _START_S
    while time.monotonic() < ends:
        if server.poll() is not None:
            raise HarnessError(f"the server ended with status {server.returncode}", where=str(log), remedy="see there")
        try:
            with opener.open(f"http://127.0.0.1:{port}/v1/models", timeout=5):
                return
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(_LOOK_S)
    raise HarnessError(f"the server did not answer in {_START_S:.0f} s", where=str(log), remedy="see there")
