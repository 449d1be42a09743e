"""The Merkle tree hash of RFC 9162, section 2.1.1, over lines.

A leaf is SHA-256(0x00 ‖ line), an inner node SHA-256(0x01 ‖ left ‖ right), the left side of n > 1 lines being the
largest power of two below n. The prefixes keep a line from posing as an inner node. The empty tree has the
digest of no bytes at all:

>>> merkle_root([])
'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
>>> merkle_root([b"a", b"b"]) == merkle_root([b"ab"])
False

A line is hashed as it is given; whoever reads a file gives its lines without their newlines.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from sealkit.wire.digest import PREFIX


def merkle_root(lines: Iterable[bytes]) -> str:
    """The digest that commits to every line and its place, in one pass; memory grows with log2 of the count."""
    # Roots of full subtrees, left to right, each larger than the next: the binary digits of `count`.
    full: list[bytes] = []
    count = 0
    for count, line in enumerate(lines, start=1):
        node = sha256(b"\x00" + line).digest()
        merges = count
        while not merges & 1:
            node = sha256(b"\x01" + full.pop() + node).digest()
            merges >>= 1
        full.append(node)
    if not count:
        return PREFIX + sha256().hexdigest()
    root = full.pop()
    while full:
        root = sha256(b"\x01" + full.pop() + root).digest()
    return PREFIX + root.hex()
