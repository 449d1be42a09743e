"""Causal: can this trace have been executed, step by step, from the genesis to its end? See SPEC.md."""

from __future__ import annotations

from functools import lru_cache

from sealkit.wire.canon import decode_record, digest_json
from sealkit.wire.declared import Scenario
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.scenario import check_scenario
from sealkit.wire.verdict import Verdict

from .declaration import check_declared
from .faults import Faults
from .seen import Seen, view
from .trace import Broken, Trace, follow


def check(trusted: Trusted, episode: bytes) -> Verdict:
    """The verdict without the public declaration: of the scenario it takes the genesis alone."""
    return _checked(trusted, episode, declared=False)


def check_with_declaration(trusted: Trusted, episode: bytes) -> Verdict:
    """The verdict with the public declaration: contracts, footprints, snapshots, restores, the turn budget."""
    return _checked(trusted, episode, declared=True)


def rule(trusted: Trusted, seen: bytes) -> Verdict:
    """`check`, on what is seen and on nothing else."""
    return _ruled(trusted, seen, declared=False)


def rule_with_declaration(trusted: Trusted, seen: bytes) -> Verdict:
    """`check_with_declaration`, on what is seen and on nothing else."""
    return _ruled(trusted, seen, declared=True)


def _checked(trusted: Trusted, episode: bytes, *, declared: bool) -> Verdict:
    _open(trusted.scenario)
    try:
        seen = view(episode)
    except MalformedError as error:
        faults = Faults()
        faults.add("evidence", "episode", str(error), "one canonical line of sealkit/episode/v1")
        return faults.verdict()
    return _ruled(trusted, seen, declared=declared)


def _ruled(trusted: Trusted, seen: bytes, *, declared: bool) -> Verdict:
    what, faults = decode_record(seen, Seen, where="view"), Faults()
    scenario = _open(trusted.scenario)
    identity = digest_json({"pin": trusted.pin, "scenario": digest_bytes(trusted.scenario), "slot": dict(trusted.slot)})
    if what.identity != identity:
        faults.add("evidence", "identity", what.identity, identity)
        return faults.verdict()
    trace = Trace(what, scenario.genesis, faults)
    try:
        follow(trace)
        if declared:
            check_declared(trace, scenario)
    except Broken:
        return faults.verdict()
    for act, pointer in trace.unexplained:
        if not declared:
            faults.doubt(f"the public declaration: whether the reading of {pointer} at act {act} was to be false")
    return faults.verdict()


@lru_cache(maxsize=256)
def _open(line: bytes) -> Scenario:
    scenario = decode_record(line, Scenario, where="the trusted scenario")
    check_scenario(scenario)
    return scenario
