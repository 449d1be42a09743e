"""Where the model of each role is served, and the key that the endpoint asks for.

    --endpoint http://127.0.0.1:8000/v1                 every role
    --endpoint diagnoser=https://api.example.com/v1     one role
    --endpoint https://api.example.com/v1#openai        settings spelt as this endpoint takes them (`request.FORMS`)

The key of an endpoint is in `SEALKIT_API_KEY_<ROLE>`, or in `SEALKIT_API_KEY` for every role without one. It is read
from the environment and nowhere else, and no value that is printed, raised or written holds it:

>>> at = read_endpoints(("http://127.0.0.1:8000/v1",), roles=("agent",), environ={"SEALKIT_API_KEY": "sk-not-a-key"})
>>> at["agent"]
Endpoint(url='http://127.0.0.1:8000/v1', form='vllm', key=Key(SEALKIT_API_KEY))
>>> at["agent"].completions
'http://127.0.0.1:8000/v1/chat/completions'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from sealkit.agents.models.request import FORMS
from sealkit.agents.models.secrets import KEY
from sealkit.wire.errors import UsageError


class Key:
    """A key and the name of the variable that held it. Only `header` gives it away."""

    __slots__ = ("_text", "variable")

    def __init__(self, variable: str, text: str) -> None:
        if not text.isascii() or not text.isprintable() or " " in text:
            raise UsageError("the key holds a space or what no header can", where=variable, remedy="set it again")
        self.variable = variable
        self._text = text

    def __repr__(self) -> str:
        return f"Key({self.variable})"

    def __reduce__(self) -> str:
        raise TypeError("a key is never written; a worker reads its own environment")

    def header(self) -> str:
        """The value of the header `Authorization`."""
        return f"Bearer {self._text}"

    def secret(self) -> bytes:
        """The key itself, to look for it in bodies."""
        return self._text.encode()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One base address, the form of its requests, and its key or None."""

    url: str
    form: str
    key: Key | None

    @property
    def completions(self) -> str:
        """The address that calls go to."""
        return f"{self.url}/chat/completions"

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine, where no proxy has a say."""
        return _is_loopback(urlsplit(self.url).hostname or "")


def read_endpoints(texts: Iterable[str], *, roles: Iterable[str], environ: Mapping[str, str]) -> Mapping[str, Endpoint]:
    """The endpoint of every role; `UsageError` if a role has none, or two, or one that could give a key away."""
    roles = tuple(roles)
    given: dict[str, str] = {}
    for text in texts:
        role, url = _split(text)
        if role and role not in roles:
            what = f"the plan has no model role {role!a}"
            raise UsageError(what, where=f"--endpoint {role}=", remedy=f"one of: {', '.join(roles)}")
        if role in given:
            what = "given twice for " + (f"the role {role}" if role else "every role")
            raise UsageError(what, where="--endpoint", remedy="give it once")
        given[role] = url
    found = {}
    for role in roles:
        url = given.get(role, given.get("", ""))
        if not url:
            raise UsageError(
                f"no endpoint serves the model role {role}", where="--endpoint", remedy=f"--endpoint {role}=URL"
            )
        found[role] = _endpoint(url, _key(role, environ))
    return found


def _split(text: str) -> tuple[str, str]:
    """Role (empty for every role) and address."""
    before, equals, after = text.partition("=")
    return (before, after) if equals and "/" not in before else ("", text)


def _key(role: str, environ: Mapping[str, str]) -> Key | None:
    for variable in (f"{KEY}_{role.upper()}", KEY):
        if environ.get(variable):
            return Key(variable, environ[variable])
    return None


def _endpoint(text: str, key: Key | None) -> Endpoint:
    where = "--endpoint"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError("an address that cannot be read", where=where, remedy="write https://HOST/v1") from error
    if parts.username is not None or parts.password is not None or parts.query:
        # It is printed in messages, so it must not hold a secret; nor is it quoted here.
        raise UsageError("an address with a name, password or query in it", where=where, remedy=f"put keys into {KEY}")
    if parts.scheme not in ("http", "https") or not host or not text.isascii() or not text.isprintable():
        raise UsageError(
            f"found {text[:80]!a}", where=where, remedy="write https://HOST/v1 or http://127.0.0.1:PORT/v1"
        )
    if parts.scheme == "http" and key is not None and not _is_loopback(host):
        what = f"http:// would carry the key in clear to {host}"
        raise UsageError(what, where=where, remedy=f"use https://, or unset {key.variable}")
    form = parts.fragment or "vllm"
    if form not in FORMS:
        raise UsageError(f"no form of requests is called {form!a}", where=where, remedy=f"one of: {', '.join(FORMS)}")
    return Endpoint(url=text.partition("#")[0].rstrip("/"), form=form, key=key)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
