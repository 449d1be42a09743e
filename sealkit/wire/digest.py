"""Digests: `sha256:` and 64 lower-case hex digits, over exactly the bytes named.

A file or blob is hashed as it stands, so `sha256sum` gives the same digits:

>>> digest_bytes(b"abc")
'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
>>> short(digest_bytes(b"abc"))
'ba7816bf8f01'

A record is hashed over its canonical bytes, which carry `type: sealkit/<kind>/v1`; so the digest of
one kind can never stand for another. Refused by `parse_digest`: any other algorithm, length or case.
"""

from __future__ import annotations

import hashlib
import re

from sealkit.wire.errors import MalformedError

PREFIX = "sha256:"
DIGEST_PATTERN = r"^sha256:[0-9a-f]{64}$"
_is_digest = re.compile(r"sha256:[0-9a-f]{64}\Z").match


def digest_bytes(data: bytes) -> str:
    """The digest of `data` as it stands."""
    return PREFIX + hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    """Whether `text` is written as a digest; says nothing of what it commits to."""
    return _is_digest(text) is not None


def parse_digest(text: str, *, where: str) -> str:
    """`text` itself if it is written as a digest; else `MalformedError` naming `where`."""
    if not is_digest(text):
        raise MalformedError(f"found {text[:80]!r}, due sha256: and 64 lower-case hex digits", where=where)
    return text


def short(digest: str) -> str:
    """The first 12 hex digits, for messages only; never compare by it."""
    return digest.removeprefix(PREFIX)[:12]
