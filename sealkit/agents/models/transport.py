"""Requests over HTTP: the only module of sealkit that opens a connection.

A redirect is not followed, since it could carry the key to somebody else. Certificates are verified. An endpoint on
this machine is reached directly, whatever proxy the environment names; any other as the environment says. A body is
read as it is sent, uncompressed, up to a bound, so that no small answer unpacks to a large one. One deadline bounds
the whole request: an answer that drips for ever ends there.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import ssl
from typing import Final

import httpx

import sealkit
from sealkit.agents.models.blobs import MAX_BODY
from sealkit.agents.models.endpoint import Endpoint
from sealkit.agents.models.exchange import Came, Lost, Patience

_HEADERS: Final = {
    "accept": "application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
    "user-agent": f"sealkit/{sealkit.__version__}",
}

# At their most talkative these quote the headers of answers, and an endpoint may send a key back in one.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


# For each request, an httpx client looks at every connection that it holds. A few connections to a client, and more
# clients, take a third of the time of one client with all of them.
_LANE: Final = 4


class HttpTransport:
    """Connections to every endpoint of a run, `width` requests under way at most."""

    def __init__(self, patience: Patience, width: int) -> None:
        self._timeout = httpx.Timeout(patience.read_s, connect=patience.connect_s, pool=None)
        self._patience = patience
        self._seats = list(range(width))  # a heap: the lowest lanes are used first, so their connections stay open
        self._clients: dict[tuple[int, bool], httpx.AsyncClient] = {}
        self._trust: dict[bool, ssl.SSLContext] = {}

    async def close(self) -> None:
        """Give the connections back."""
        while self._clients:
            await self._clients.popitem()[1].aclose()

    async def post(self, endpoint: Endpoint, body: bytes) -> Came | Lost:
        """Send `body` to the endpoint and read what comes, within bounds."""
        seat = heapq.heappop(self._seats)
        try:
            return await self._post(self._client(seat // _LANE, endpoint), endpoint, body)
        finally:
            heapq.heappush(self._seats, seat)

    async def _post(self, client: httpx.AsyncClient, endpoint: Endpoint, body: bytes) -> Came | Lost:
        headers = _HEADERS if endpoint.key is None else {**_HEADERS, "authorization": endpoint.key.header()}
        began = False
        try:
            async with (
                asyncio.timeout(self._patience.total_s),
                client.stream("POST", endpoint.completions, content=body, headers=headers) as response,
            ):
                began = True
                return await _whole(response)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            return Lost("no_connection", f"{type(error).__name__}: {error}"[:300])
        except (TimeoutError, httpx.TimeoutException):
            return _late(began, self._patience)
        except httpx.TransportError as error:  # its text could quote a header, so only its name is told
            return Lost("connection_lost", f"the connection broke ({type(error).__name__})")

    def _client(self, lane: int, endpoint: Endpoint) -> httpx.AsyncClient:
        """The lane's client for endpoints on this machine, or for those that the environment's proxies may serve."""
        outside = not endpoint.is_loopback
        client = self._clients.get((lane, outside))
        if client is None:
            if outside not in self._trust:
                self._trust[outside] = httpx.create_ssl_context(trust_env=outside)
            client = self._clients[lane, outside] = httpx.AsyncClient(
                follow_redirects=False, timeout=self._timeout, trust_env=outside, verify=self._trust[outside]
            )
        return client


async def _whole(response: httpx.Response) -> Came | Lost:
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity":
        return Lost("malformed_reply", f"the body is encoded as {encoding[:40]!a}, due as it is")
    parts, size = [], 0
    async for part in response.aiter_raw():
        size += len(part)
        if size > MAX_BODY:
            return Lost("too_large", f"the body has more than {MAX_BODY} bytes")
        parts.append(part)
    return Came(response.status_code, response.headers.get("retry-after"), b"".join(parts))


def _late(began: bool, patience: Patience) -> Lost:
    if began:
        return Lost("never_ended", f"the answer did not end within {patience.total_s:g} s, or stopped in the middle")
    return Lost("timeout", f"no answer within {min(patience.read_s, patience.total_s):g} s")
