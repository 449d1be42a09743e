"""What a worker of a Dask cluster does: it opens the seal itself, plays one attempt, and gives back what it left.

It takes and gives plain values. Keys are in its own environment and come from nowhere else; what asks for one is told
where endpoints are, and no more. Bodies of calls are in the folder of blobs, flushed, before it answers. It writes
nothing else of a study, and never the journal.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Budget, Limits, Spent
from sealkit.agents.models.endpoint import read_endpoints
from sealkit.agents.models.exchange import Patience
from sealkit.plan.slots import Stage
from sealkit.run.bench import Bench, open_bench
from sealkit.run.calling import Calling, Models, calling
from sealkit.run.executor import attempt
from sealkit.run.leaks import close_memory, take_keys
from sealkit.run.outcome import Broke, CutOff, Kept, Outcome, Pending
from sealkit.seal.closure import environment
from sealkit.seal.guard import DRIFT
from sealkit.seal.journal import BLOBS
from sealkit.wire.canon import digest_record
from sealkit.wire.errors import HarnessError, SealkitError
from sealkit.wire.events import Slot

# No types that two machines could differ in.
Stand: TypeAlias = tuple[Stage, tuple[int, int] | None]  # stage, shard of so many
About: TypeAlias = tuple[str, str, str, Stand]  # plan, pin, digest of the environment
# The run that asks, by a word of its own; `ROLE=URL#form`; attempts at once in a worker; a `Patience` by its members.
Ways: TypeAlias = tuple[str, tuple[str, ...], int, tuple[float, float, float, int, float]]
Share: TypeAlias = tuple[int, int | None, int | None]  # `Limits` by its members
Task: TypeAlias = tuple[About, Slot, int, tuple[Ways, Share] | None]
# kept, broke or cut off; the episode; its calls; ending or reason; why; remedy
Answer: TypeAlias = tuple[str, bytes, bytes, str, str, str]

REFUSED = "worker_refused"
_RESTART = "mend it, restart the workers, and run again"


@dataclass(frozen=True, slots=True)
class _Asking:
    """The calls of one run in this worker."""

    run: str
    calling: Calling
    stack: ExitStack


# One seal in the life of a worker: code that was loaded for one must not play for another.
_opened: tuple[str, str, dict[Stand, Bench]] | None = None
_asking: dict[Stand, _Asking] = {}
_keys: dict[str, str] = {}  # the variables that held them
_one_at_a_time = threading.Lock()


def play_attempt(task: Task) -> Answer:
    """One attempt at a slot, from a thread of the worker's.

    A study's code need not bear threads: one attempt is played at a time, and those that ask models on one thread.
    """
    if keys := take_keys():  # before any code of a study is loaded
        _keys.update(keys)
        close_memory()
    try:
        about, slot, number, asks = task
        with _one_at_a_time:
            bench = _bench(about)
            if asks is None:
                return _spell(_forgotten(about, bench, attempt(bench, slot)))
            ways, share = asks
            pending = _calling(bench, about[-1], ways).submit(slot, number, Budget(Limits(*share), Spent()))
        return _spell(_forgotten(about, bench, _await(pending)))
    except (SealkitError, OSError) as error:
        return _spell(CutOff(REFUSED, f"a worker refuses: {error}", _RESTART))


def halt(run: str, at_once: bool) -> None:
    """Let what this run has under way here end; it waits for nothing, for it is called on the worker's own loop."""
    for asking in tuple(_asking.values()):
        if asking.run == run:
            asking.calling.halt(at_once=at_once)


def _await(pending: Pending) -> Outcome:
    from distributed import secede

    secede()  # type: ignore[no-untyped-call]  # it only waits: another attempt may begin here meanwhile
    return pending.result()


def _spell(outcome: Outcome) -> Answer:
    if isinstance(outcome, Kept):
        return "kept", outcome.line, outcome.calls, "", "", ""
    if isinstance(outcome, Broke):
        return "broke", b"", outcome.calls, outcome.ending, outcome.why, ""
    assert isinstance(outcome, CutOff)
    return "cut_off", b"", outcome.calls, outcome.reason, outcome.why, outcome.remedy


def _bench(about: About) -> Bench:
    global _opened
    plan, pin, due, stand = about
    if _opened is None:
        if digest_record(environment()) != due:
            raise HarnessError("its environment is not that of the one who runs", remedy="install the same lock")
        _opened = (plan, pin, {})
    if _opened[:2] != (plan, pin):
        raise HarnessError("it has opened another seal already")
    benches = _opened[2]
    if stand not in benches:
        bench = open_bench(Path(plan), stand[0], share=stand[1])
        if bench.pin != pin:
            raise HarnessError(f"it finds the pin {bench.pin}, due {pin}", remedy="share one folder")
        benches[stand] = bench
    return benches[stand]


def _forgotten(about: About, bench: Bench, outcome: Outcome) -> Outcome:
    """`outcome`; after drift what was loaded here is opened anew for the run that goes on."""
    if isinstance(outcome, CutOff) and outcome.reason == DRIFT and _opened is not None:
        benches, stand = _opened[2], about[-1]
        if benches.get(stand) is bench:
            benches.pop(stand, None)
    return outcome


def _calling(bench: Bench, stand: Stand, ways: Ways) -> Calling:
    """The calls of this run; those of an earlier run on the same bench, whose journal this one now has, are cut off."""
    run, endpoints, concurrency, patience = ways
    found = _asking.get(stand)
    if found is not None and found.run == run:
        return found.calling
    if found is not None:
        del _asking[stand]
        found.stack.close()
    models = Models(read_endpoints(endpoints, roles=bench.arm_roles, environ=_keys), concurrency, Patience(*patience))
    nothing = Budget(Limits(calls=0, tokens=0, cost_microusd=0), Spent())  # each attempt has a budget of its own
    blobs = Blobs(bench.folder / BLOBS, inside=bench.study, withheld=bench.withheld_before(), shared=True)
    with ExitStack() as stack:
        made = stack.enter_context(calling(bench, models, nothing, blobs))
        _asking[stand] = _Asking(run, made, stack.pop_all())
    return made
