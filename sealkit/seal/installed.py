"""Which distributions are installed, read from their `METADATA` files (PyPA, Recording installed projects).

`importlib.metadata` reads the same files, but imports an e-mail parser for them, which takes longer than all else
that a seal does of this.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_INFO = ".dist-info"
_required = re.compile(r"^Requires-Dist: *([A-Za-z0-9._-]+)(?!.*;.*\bextra\b)", re.MULTILINE)
_version = re.compile(r"^Version: *(\S+)", re.MULTILINE)


def versions(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(name, version) of each installed distribution in `names`, and of each that one of them requires."""
    installed = _installed()
    waiting, seen = list(names), set[str]()
    while waiting:
        name = _normalized(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        if name not in installed:
            continue  # a marker of another platform, or a stage that this installation does without
        header = installed[name].read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
        version = _version.search(header)
        if version is not None:
            yield name, version[1]
        waiting += _required.findall(header)


def _installed() -> dict[str, Path]:
    """Normalized name → its METADATA; of two with one name the first on the path counts, as for an import."""
    found: dict[str, Path] = {}
    for place in sys.path:
        try:
            names = os.listdir(place or ".")
        except OSError:
            continue  # an archive, or a folder that is not there
        for entry in sorted(names):
            if entry.endswith(_INFO):
                name = _normalized(entry.removesuffix(_INFO).rpartition("-")[0])
                found.setdefault(name, Path(place or ".", entry, "METADATA"))
    return {name: path for name, path in found.items() if path.is_file()}


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
