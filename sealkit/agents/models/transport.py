"""Requests over HTTP: the only module of sealkit that opens a connection.

A redirect is not followed, since it could carry the key to somebody else. Certificates are verified. An endpoint on
this machine is reached directly, whatever proxy the environment names; any other as the environment says. A body is
read as it is sent, uncompressed, up to a bound, so that no small answer unpacks to a large one. One deadline bounds
the whole request: an answer that drips for ever ends there.
"""

from __future__ import annotations

import asyncio
import logging
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


class HttpTransport:
    """Connections to every endpoint of a run, `width` of them at most."""

    def __init__(self, patience: Patience, width: int) -> None:
        self._patience = patience
        self._width = width
        self._clients: dict[bool, httpx.AsyncClient] = {}

    async def close(self) -> None:
        """Give the connections back."""
        while self._clients:
            await self._clients.popitem()[1].aclose()

    async def post(self, endpoint: Endpoint, body: bytes) -> Came | Lost:
        """Send `body` to the endpoint and read what comes, within bounds."""
        client = self._client(endpoint)
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

    def _client(self, endpoint: Endpoint) -> httpx.AsyncClient:
        """One for the endpoints on this machine, one for those that the environment's proxies may serve."""
        outside = not endpoint.is_loopback
        if outside not in self._clients:
            limits = httpx.Limits(max_connections=self._width, max_keepalive_connections=self._width)
            timeout = httpx.Timeout(self._patience.read_s, connect=self._patience.connect_s, pool=None)
            self._clients[outside] = httpx.AsyncClient(
                follow_redirects=False, limits=limits, timeout=timeout, trust_env=outside
            )
        return self._clients[outside]


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
