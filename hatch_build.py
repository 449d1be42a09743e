"""Puts the reference study into a wheel, as data below `sealkit/reference/`.

Worlds, verifiers and plans are content that a study seals, not packages: nothing of them may be importable
from site-packages. A checkout, and an editable installation of it, has them at its root instead.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CONTENT = (
    "worlds/**/*", "verifiers/**/*", "mutations/**/*", "plans/*.yaml", "docs/example/ab-prompts/**/*",
    "requirements.lock",
)  # fmt: skip


class ReferenceStudy(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        for pattern in CONTENT:
            for path in sorted(root.glob(pattern)):
                if path.is_file() and path.suffix != ".pyc":
                    build_data["force_include"][str(path)] = f"sealkit/reference/{path.relative_to(root).as_posix()}"
