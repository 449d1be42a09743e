"""The sandboxes of a study: one process for its world, one for its judge, one for each verifier of its own.

Python lets whatever runs in a process change everything else in it. So what is played, what measures it and what checks
it share no process, and beside the judge lie only the files that it is made of (`seal.changes.judge_files`): a world
that an amendment changed cannot change a measure. Beside none of them lies the plan or the lock: what runs can read no
file that an amendment changes without being other code (`seal.changes.other_code`).

The code that runs there is the sealed sealkit's; with `own`, it is this sealkit's over the same files of the study.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, TypeAlias

from sealkit.plan.actors import ReferenceWorld
from sealkit.seal.changes import judge_files, own_files
from sealkit.seal.closure import SEALKIT, sealkit_folder, sealkit_tree
from sealkit.seal.pins import Pinned
from sealkit.verify.sandbox import Isolation, Sandbox
from sealkit.wire.errors import HarnessError

Part: TypeAlias = Literal["world", "judge", "verifier"]
WORLD: Final = "world"
JUDGE: Final = "judge"
VERIFIER: Final = "verifier"


class Sandboxes:
    """The sandboxes of a study, each opened when it is first needed; none where no code of the study is to run.

    Two pins whose code is the same share them. What a verifier does to its process, it does not do to the rerun that
    other verdicts rest on.
    """

    def __init__(self, isolation: Isolation | None, closing: contextlib.ExitStack, *, own: bool = False) -> None:
        self.isolation = isolation
        self._closing = closing
        self._own = own
        self._open: dict[tuple[object, ...], Sandbox] = {}

    def of(self, pinned: Pinned, part: Part, verifier: str = "") -> Sandbox:
        """The sandbox over the source of this pin, for its world, its judge, or one verifier of the study's own.

        `HarnessError` if no code of the study is to run.
        """
        if self.isolation is None:
            raise HarnessError("no code of the study is run here", remedy="give --replay")
        closure, spec = pinned.closure, pinned.plan.spec
        world = spec.world.name if isinstance(spec.world, ReferenceWorld) else None
        key = (*((tree.path, tree.root) for tree in closure.trees), closure.files, world, spec.judge)
        key += (part, verifier)
        if key not in self._open:
            opened = open_sandbox(pinned, part, self.isolation, own=self._own)
            self._open[key] = self._closing.enter_context(opened)
        return self._open[key]


@contextlib.contextmanager
def open_sandbox(pinned: Pinned, part: Part, isolation: Isolation, *, own: bool = False) -> Iterator[Sandbox]:
    """The sealed code of a pin, unpacked in a fresh folder, and the part loaded in a child process.

    A child of an older sealkit loads world and judge together or not at all, so it is given both.
    """
    spec = pinned.plan.spec
    with tempfile.TemporaryDirectory(prefix="sealkit-replay-") as folder:
        source = Path(folder) / "source"
        source.mkdir()
        pinned.unpack_code(source)
        if own:
            _put_own_sealkit(source)
        others = _not_the_judges(pinned, source) if part == JUDGE else ()
        with Sandbox(source, isolation=isolation, sealed_by=pinned.commitment.sealkit) as sandbox:
            if isinstance(spec.world, ReferenceWorld) and spec.judge is not None:  # of another only the verifiers run
                if not sandbox.alone:
                    sandbox.load(spec.world.name, spec.judge)
                elif part == JUDGE:
                    for name in others:
                        (source / name).unlink()
                    sandbox.load(None, spec.judge)
                else:
                    sandbox.load(spec.world.name, None)  # a verifier may ask it to act again
            yield sandbox


def _put_own_sealkit(source: Path) -> None:
    """The unpacked source has the sealkit that is running, and nothing of the sealed one."""
    shutil.rmtree(source / SEALKIT)
    for entry in sealkit_tree().entries:
        target = source / SEALKIT / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(sealkit_folder() / entry.path, target)


def _not_the_judges(pinned: Pinned, source: Path) -> tuple[str, ...]:
    """The files of the study that its judge is not made of."""
    own = own_files(pinned.closure)
    texts = {name: (source / name).read_bytes() for name in own if name.endswith(".py")}
    kept = judge_files(pinned.plan.spec, own, texts)
    return tuple(name for name in own if name not in kept)
