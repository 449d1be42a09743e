r"""What looks like a key: bodies are looked through before anything is hashed, written or quoted.

>>> Watch(()).found_in(b'{"content":"my key is sk-abcdefghijklmnopqrstuvwx"}')
True
>>> Watch((b"hunter2-hunter2",)).found_in(b'{"content":"hunter2-hunter2"}')
True
>>> Watch(()).found_in(b'{"content":"task-force skills, door sk-1"}')
False

JSON may spell a letter as an escape, and text in JSON may hold JSON again: a body is looked through as it is, and as it
reads when each escape in it is taken for its letter, up to three times. A key in another encoding, or cut in two, is
not found.

>>> Watch((b'qu"ote-back',)).found_in(rb'{"arguments":"{\"key\":\"qu\\\"ote\\u002dback\"}"}')
True
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sealkit.wire.errors import UsageError

KEY: Final = "SEALKIT_API_KEY"
# Shorter words, such as `EMPTY` or `none`, are what local servers are given for a key: no secret, and found anywhere.
SHORTEST: Final = 8

# Each of the patterns below holds one of these, and most bodies hold none. Written from a rare letter outward, they
# take a tenth of the time.
_MARKS: Final = tuple(
    re.compile(mark)
    for mark in (
        rb"-(?:(?<=sk-)|(?<=hf-)|(?<=gsk-)|(?<=pplx-)|(?<=xai-)|(?<=glpat-)|(?<=xox[abprs]-)|(?<=-----))",
        rb"_(?:(?<=hf_)|(?<=gsk_)|(?<=pplx_)|(?<=xai_)|(?<=gh[pousr]_)|(?<=_pat_))",
        rb"A(?:Iza|KIA|SIA)",
        rb"eyJ",
        rb"earer ",
    )
)
_COMMON: Final = re.compile(
    rb"(?<![A-Za-z0-9])(?:"
    rb"sk-[A-Za-z0-9_-]{20,}"  # OpenAI, Anthropic, OpenRouter, DeepSeek
    rb"|(?:hf|gsk|pplx|xai)[_-][A-Za-z0-9]{24,}"
    rb"|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}|glpat-[A-Za-z0-9_-]{20,}"
    rb"|AIza[A-Za-z0-9_-]{35}|(?:AKIA|ASIA)[A-Z0-9]{16}|xox[abprs]-[A-Za-z0-9-]{10,}"
    rb"|[Bb]earer +[A-Za-z0-9._~+/-]{20,}"
    rb"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"  # JSON Web Token
    rb")|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----"
)

_NESTED: Final = 3
_ESCAPE: Final = re.compile(rb'((?:\\u[0-9a-fA-F]{4})+)|\\(["\\/bfnrt])')
_SHORT: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def key_variables(environ: Iterable[str]) -> list[str]:
    """Those of these variables that hold keys.

    >>> key_variables(("PATH", "SEALKIT_API_KEY", "SEALKIT_API_KEY_AGENT", "SEALKIT_API_KEYS"))
    ['SEALKIT_API_KEY', 'SEALKIT_API_KEY_AGENT']
    """
    return [name for name in environ if name == KEY or name.startswith(f"{KEY}_")]


def secret_parts(value: str) -> list[str]:
    """The value, and each line of one of several lines: a traceback or a log line shows one of them alone.

    >>> secret_parts("-----BEGIN KEY-----\\nMIIEpAIBAAKC\\n=ab\\n")[1:]
    ['-----BEGIN KEY-----', 'MIIEpAIBAAKC']
    """
    lines = [line.strip() for line in value.splitlines()]
    return [value, *(line for line in lines if SHORTEST <= len(line) < len(value))]


class Watch:
    """Finds the keys in use and what is written like one."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._keys = tuple({spelled for key in keys if len(key) >= SHORTEST for spelled in _spellings(key)})

    def found_in(self, body: bytes) -> bool:
        """Whether `body` holds one."""
        for _ in range(_NESTED):
            if self._plainly_in(body):
                return True
            if rb"\u" not in body and rb"\/" not in body:
                return False  # what else is escaped, quotes and backslashes, is so in the spellings of a key too
            body = _unescaped(body)
        return self._plainly_in(body)

    def _plainly_in(self, body: bytes) -> bool:
        if any(key in body for key in self._keys):
            return True
        return any(mark.search(body) for mark in _MARKS) and _COMMON.search(body) is not None


def _spellings(key: bytes) -> Iterator[bytes]:
    """The key as it is, and as text in JSON, in JSON in JSON, and so on."""
    text = key.decode(errors="surrogateescape")
    for _ in range(_NESTED + 1):
        yield text.encode(errors="surrogateescape")
        text = json.dumps(text, ensure_ascii=False)[1:-1]


def _unescaped(body: bytes) -> bytes:
    """`body` with each escape of JSON replaced by what it stands for, whether or not it is JSON as a whole."""
    return _ESCAPE.sub(_letters, body)


def _letters(escape: re.Match[bytes]) -> bytes:
    units = escape[1]
    if units is None:
        return _SHORT.get(escape[2], escape[2])
    text = bytes.fromhex(units.replace(rb"\u", b"").decode()).decode("utf-16-be", "surrogatepass")
    return text.encode("utf-8", "surrogatepass")


def refuse_keys(data: bytes, environ: Mapping[str, str], *, where: str) -> None:
    """Raise `UsageError`, quoting nothing, if `data` holds a key of `environ` or what is written like a common one."""
    keys = (environ[name].encode(errors="surrogateescape") for name in key_variables(environ))
    if Watch(keys).found_in(data):
        raise UsageError(
            "found what looks like a key, in what would be published",
            where=where,
            remedy="take it out; keys come from the environment alone (docs/models.md)",
        )
