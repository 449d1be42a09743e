"""The server: HTTP/1.1 over asyncio, in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeAlias

from tests.loopback.faults import Answer, Fault, completion, whole

Policy: TypeAlias = Callable[[Any], str]
Script: TypeAlias = Mapping[int, Fault] | Callable[[int, Any], Fault | None]

_REASONS = {200: "OK", 307: "Temporary Redirect", 401: "Unauthorized", 429: "Too Many Requests", 500: "Server Error"}
_MOST = 64 * 1024 * 1024


@dataclass(frozen=True)
class Received:
    """One request as it arrived; `number` counts from 1."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Loopback:
    """The endpoint; `with` starts and stops it."""

    def __init__(
        self,
        policy: Policy,
        faults: Script | None = None,
        *,
        log: Callable[[Received], None] = lambda received: None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.policy = policy
        self.faults: Script = faults if faults is not None else {}
        self.connections = 0
        self._log = log
        self._tls = tls
        self._received: list[Received] = []
        self._loop = asyncio.new_event_loop()
        self._port = 0
        self._started = threading.Event()
        self._came = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="loopback", daemon=True)

    @property
    def url(self) -> str:
        """The base address, as for `--endpoint`."""
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> tuple[Received, ...]:
        """Every request so far, in order of arrival."""
        return tuple(self._received)

    def await_requests(self, count: int) -> None:
        """Return once so many have come."""
        with self._came:
            assert self._came.wait_for(lambda: len(self._received) >= count, timeout=60), len(self._received)

    def __enter__(self) -> Loopback:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_MOST, ssl=self._tls, backlog=512)
        )
        self._port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (received := await self._read(reader)) is not None:
                if not await _write(writer, reader, self._answer(received)):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side has gone, or the server ends
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Received | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode("latin-1").rstrip().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        received = Received(len(self._received) + 1, method, path, headers, body)
        with self._came:
            self._received.append(received)
            self._came.notify_all()
        self._log(received)
        return received

    def _answer(self, received: Received) -> Answer:
        if (received.method, received.path) != ("POST", "/v1/chat/completions"):
            return Answer(404, b'{"error": {"message": "no such path"}}')
        request = received.json
        fault = self.faults(received.number, request) if callable(self.faults) else self.faults.get(received.number)
        reply = completion(request, self.policy(request))
        return whole(reply) if fault is None else fault(request, reply)


async def _write(writer: asyncio.StreamWriter, reader: asyncio.StreamReader, answer: Answer) -> bool:
    """Send the answer in its manner; False if the connection is over."""
    if answer.manner == "hang":
        await reader.read()  # until the other side gives up
        return False
    if answer.manner == "reset":
        _reset(writer)
        return False
    head = f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Other')}\r\ncontent-type: application/json\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    if answer.manner == "drip":
        writer.write(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        while True:
            writer.write(b"1\r\n \r\n")
            await writer.drain()
            await asyncio.sleep(0.005)
    writer.write(f"{head}content-length: {len(answer.body)}\r\n\r\n".encode())
    if answer.manner in ("reset_midway", "stall_midway"):
        writer.write(answer.body[: len(answer.body) // 2])
        await writer.drain()
        if answer.manner == "stall_midway":
            await reader.read()
        _reset(writer)
        return False
    writer.write(answer.body)
    await writer.drain()
    return True


def _reset(writer: asyncio.StreamWriter) -> None:
    """End the connection so that the other side sees a reset, not an end."""
    found = writer.get_extra_info("socket")
    if found is not None:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
