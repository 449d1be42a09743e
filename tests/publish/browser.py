"""A headless Chromium on a pipe: loads a file, measures what is laid out, takes pictures, counts what it asks of a network.

The DevTools protocol is spoken over two pipes (`--remote-debugging-pipe`: JSON, each message ended by NUL), so nothing
listens on any port. Every request but the page's own file would go to a proxy that only counts connections.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
HOW_TO_INSTALL = "no Chromium here: apt-get install -y --no-install-recommends chromium"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


class Proxy:
    """Listens on the loopback, answers nothing, and counts who comes."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.asked: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        self._socket.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.asked.append(connection.recv(200))


class Browser:
    """One page of a running Chromium."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, back: int, proxy: Proxy) -> None:
        self._process, self._to, self._back, self.proxy = process, to, back, proxy
        self._number = 0
        self._waiting = b""
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._to)
        os.close(self._back)
        self._process.kill()
        self._process.wait()
        self.proxy.close()

    def call(self, method: str, **params: Any) -> Any:
        """The result of one command; events that come meanwhile are noted."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
        raise AssertionError("Chromium went away")

    def open(self, path: Path, *, width: int, dark: bool = False) -> None:
        """The file is loaded and laid out at that width."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=path.as_uri())
        for message in self._messages():
            if message.get("method") == "Page.loadEventFired":
                break

    def value(self, expression: str) -> Any:
        """What an expression comes to in the page, run from outside: the page's own policy lets nothing run."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def picture(self, path: Path) -> None:
        """The whole page as a PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _messages(self) -> Iterator[Any]:
        while True:
            while b"\0" not in self._waiting:
                data = os.read(self._back, 1 << 16)
                if not data:
                    return
                self._waiting += data
            line, self._waiting = self._waiting.split(b"\0", 1)
            message = json.loads(line)
            method, params = message.get("method"), message.get("params", {})
            if method == "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            elif method == "Log.entryAdded":
                self.complaints.append(params["entry"]["text"])
            elif method == "Runtime.exceptionThrown":
                self.complaints.append(str(params))
            yield message


@contextmanager
def browser() -> Iterator[Browser]:
    """A fresh Chromium with a profile of its own, gone afterwards."""
    assert CHROMIUM is not None, HOW_TO_INSTALL
    proxy = Proxy()
    (read_there, to), (back, write_there) = os.pipe(), os.pipe()

    def at_three_and_four() -> None:  # where Chromium reads and writes; both are copied first, so that none is lost
        there, here = os.dup(read_there), os.dup(write_there)
        os.dup2(there, 3)
        os.dup2(here, 4)

    with tempfile.TemporaryDirectory(prefix="sealkit-chromium-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--proxy-server={proxy.address}", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=at_three_and_four, close_fds=False, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env={**os.environ, "HOME": profile, "XDG_CONFIG_HOME": profile, "XDG_CACHE_HOME": profile},
        )  # fmt: skip
        os.close(read_there)
        os.close(write_there)
        with Browser(process, to, back, proxy) as page:
            yield page
