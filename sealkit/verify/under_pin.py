"""The verifiers, the judge and the sealed source of one pin, opened when they are first needed.

Each episode is checked under its own pin: by the verifiers that its plan names, against the judge and the scenarios
that were pinned then. Two pins whose code is the same share their child processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from sealkit.plan.actors import ReferenceWorld
from sealkit.seal.pins import Pinned
from sealkit.seal.tree import tree_record
from sealkit.verify.readings import NONE, Replies, read_measures_of
from sealkit.verify.sandbox import BrokenOffError, Sandbox
from sealkit.verify.sandboxes import JUDGE, VERIFIER, WORLD, Sandboxes
from sealkit.wire.canon import decode_record
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import HarnessError, UntrustedError
from sealkit.wire.recorded import Recorded, measured
from sealkit.wire.records import Count, Json
from sealkit.wire.verdict import Abstained, Accepted, Errored, Verdict
from sealkit.world.loader import load_verifier
from sealkit.world.reference import reference_root

REPLAY = "replay"
VerifierState: TypeAlias = Literal["equals the sealed one", "differs from the sealed one", "the study's own"]
Check: TypeAlias = Callable[[Trusted, bytes], Verdict]


class Reviewer:
    """The reviewer's own verifiers, loaded once, with the root of their trees."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Callable[..., Verdict], str] | None] = {}

    def own(self, name: str) -> tuple[Callable[..., Verdict], str] | None:
        """The verifier of this sealkit that is called so, and the root of its tree; None if it has none."""
        if name not in self._known:
            folder = reference_root() / "verifiers" / name
            self._known[name] = None
            if folder.is_dir():
                self._known[name] = (load_verifier(folder), tree_record(folder.parents[1], f"verifiers/{name}").root)
        return self._known[name]


class UnderPin:
    """How episodes of one pin are checked and measured."""

    def __init__(self, pinned: Pinned, reviewer: Reviewer, sandboxes: Sandboxes) -> None:
        self.pinned = pinned
        self.verifiers: dict[str, VerifierState] = {}
        self._sandboxes = sandboxes
        self._checks = {name: self._prepare(name, reviewer) for name in pinned.plan.spec.verifiers}

    @property
    def sandbox(self) -> Sandbox:
        """The child over the source of this pin in which its world and arms run."""
        return self._sandboxes.of(self.pinned, WORLD)

    @property
    def judge(self) -> Sandbox:
        """The child over the source of this pin in which its judge runs, and nothing else of the study."""
        return self._sandboxes.of(self.pinned, JUDGE)

    def open(self) -> None:
        """World and judge are loaded after this, if the plan has them; `HarnessError` if one cannot be."""
        if isinstance(self.pinned.plan.spec.world, ReferenceWorld) and self.pinned.plan.spec.judge is not None:
            _ = self.sandbox, self.judge

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Verifiers that need the study's code, while none of it is run."""
        if self._sandboxes.isolation is not None:
            return ()
        return tuple(name for name, state in self.verifiers.items() if state == "the study's own" or name == REPLAY)

    def check(self, trusted: Trusted, line: bytes) -> dict[str, Verdict]:
        """What every verifier of the plan says of this episode."""
        return {name: _guarded(check, trusted, line) for name, check in self._checks.items()}

    def measure(self, trusted: Trusted, line: bytes, replies: Replies = NONE) -> Mapping[str, Json]:
        """The measures that the judge of this pin gives the episode, of whatever pin it is itself.

        `replies` are what models said of it, which the judge scores too.
        Without a judge they are those that were recorded, the usage with them.
        """
        if self.pinned.plan.spec.judge is None:
            return measured(decode_record(line, Recorded, where="recorded episode"))
        spec, measures = self.pinned.plan.spec, self.judge.judge(trusted.scenario, line)
        if not spec.readings:
            return measures
        return {**measures, **read_measures_of(self.judge, spec, trusted, line, replies)}

    def check_scenarios(self) -> Count:
        """Let the world of this pin make every scenario of its manifest again; how many, all with the same bytes."""
        world, manifest = self.pinned.plan.spec.world, self.pinned.manifest
        if not isinstance(world, ReferenceWorld):
            return 0
        for family, seed in manifest.keys():  # noqa: SIM118 - it is no mapping
            if self.sandbox.scenario(family, seed, world.params) != manifest.line(family, seed):
                raise UntrustedError(
                    f"the sealed world makes another scenario of {family}, seed {seed}",
                    where=str(manifest.path),
                    remedy="the world is not deterministic, or the manifest was not made by it",
                )
        return len(manifest)

    def _prepare(self, name: str, reviewer: Reviewer) -> Check:
        own, runs_code = reviewer.own(name), self._sandboxes.isolation is not None
        if own is None:
            self.verifiers[name] = "the study's own"
            if not runs_code:
                return lambda trusted, line: Abstained(missing=f"{name} is the study's own code: give --replay")
            return lambda trusted, line: self._own(name).check(name, trusted, line)
        check, root = own
        sealed = self.pinned.closure.tree(f"verifiers/{name}").root
        self.verifiers[name] = "equals the sealed one" if root == sealed else "differs from the sealed one"
        if name != REPLAY:
            if not runs_code or root == sealed:
                return lambda trusted, line: check(trusted, line)
            # The plan names the sealed verifier, the reviewer trusts the own one: an episode needs both.
            return lambda trusted, line: _both(check(trusted, line), self._own(name).check(name, trusted, line))
        if not runs_code:
            return lambda trusted, line: check(trusted, line, rerun=None)
        return lambda trusted, line: check(trusted, line, rerun=self.sandbox.rerun)

    def _own(self, verifier: str) -> Sandbox:
        """The child of a verifier that is the study's own."""
        return self._sandboxes.of(self.pinned, VERIFIER, verifier)


def _both(own: Verdict, sealed: Verdict) -> Verdict:
    return sealed if isinstance(own, Accepted) else own


def _guarded(check: Check, trusted: Trusted, line: bytes) -> Verdict:
    try:
        return check(trusted, line)
    except BrokenOffError:
        raise  # the child is gone: that is this machine's failure, and says nothing of any episode
    except HarnessError as error:
        return Errored(message=str(error))
    except Exception as error:  # the verifier's boundary: whatever it raises is its failure, not the episode's
        return Errored(message=f"{type(error).__name__}: {error}")
