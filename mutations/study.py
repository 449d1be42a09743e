"""Study A, one parent at a time: its forks, which of them are isolated, what a policy says of each.

    parent = parent_of(root, "underwriting", 7)
    shown = forks_shown(parent, audited)              # forks that the audit let through, before any detector runs
    rows = [ruled(policy, fork, clock_us=clock) for fork in shown]

Parents are numbered within their world: seed by seed, each with every family. No two share a scenario, and agents take
turns, so a parent is a draw of its own. About every fourth one is faithful and looks odd.
Paths, policies and the clock come in from outside; nothing here reads a verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sealkit.wire.canon import encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Action, Trusted
from sealkit.wire.verdict import Errored, Rejected, Verdict
from sealkit.world.loader import Policy, load_world, make_scenario

from .catalogue import FAMILIES
from .fork import Fork, forks_of
from .parent import Parent
from .parents import NO_OP, ODD, odd, played, with_no_op

Audit = Callable[..., tuple[str, ...]]
PIN = digest_bytes(b"study A: parents are played for it, under no seal of their own")
JUDGE = digest_bytes(b"study A: no judge")
FIRST_SEED = 100  # engine and policies were built on lower seeds; tests use parents below number 59
READS = {"house": Action(name="look", args={}), "underwriting": Action(name="policy.read", args={})}  # harmless
WAYS = (*ODD, NO_OP)  # faithful, and odd
MUTATIONS = tuple(f"{family.id}.{variant.name}" for family in FAMILIES.values() for variant in family.variants)


@dataclass(frozen=True, slots=True)
class Ruled:
    """What a policy said of one fork, or of the parent itself (`mutation` is then empty)."""

    mutation: str
    answer: str  # rejected, accepted, abstained, errored
    origin: str
    exact: bool
    view_bytes: int
    check_us: int
    view: str = ""  # the digest of what it saw
    named: bool = False  # the right origin is among those that it names, be it the first or not
    blind: bool = False  # it saw what it sees of the faithful parent, and is told the same beside: no rule could tell


def parent_of(root: Path, name: str, number: int) -> Parent:
    """The parent with this number in the world `name`."""
    world = load_world(root, name)
    families, agents = tuple(world.families), tuple(world.agents)
    turn, place = divmod(number, len(families))
    family, agent = families[place], agents[(turn + place) % len(agents)]
    seed = FIRST_SEED + turn
    kind = kind_of(number)
    declared = make_scenario(world, family, seed, world.trial_params)
    scenario = encode_record(with_no_op(declared) if kind == NO_OP else declared)
    slot: dict[str, int | str] = {"arm": agent, "family": family, "seed": seed}
    parent = played(world, agent, Trusted(pin=PIN, judge=JUDGE, slot=slot, scenario=scenario))
    if kind in ("plain", NO_OP):
        return parent
    most = parent.scenario.max_acts
    look = odd(kind, parent, lambda: world.session(parent.scenario), READS[name], most=most)
    return look or parent  # with more readings the turn budget may not suffice


def kind_of(number: int) -> str:
    """`plain`, or the odd way in which about every fourth parent is played: in time each way in each family."""
    count = number + number // 6  # worlds have six families; so the ways move on from family to family
    return "plain" if count % 4 != 3 else WAYS[number // 4 % len(WAYS)]


def audited(parent: Parent, audit: Audit) -> Iterator[tuple[str, str, str]]:
    """For each mutation: its name, the digest of the fork, and why it is left out; no digest where there is no fork."""
    for fork in forks_of(parent):
        if not isinstance(fork, Fork):
            family, variant, why = fork
            yield f"{family}.{variant}", "", why
            continue
        faults = audit(parent.line, parent.trusted.scenario, fork.line, fork.trusted.scenario, fork.note())
        yield f"{fork.family}.{fork.variant}", digest_bytes(fork.line), "; ".join(faults)


def forks_shown(parent: Parent, isolated: Mapping[str, str]) -> tuple[Fork, ...]:
    """The forks whose digest is that of an isolated one, by mutation; no other is shown to a detector."""
    made = [fork for fork in forks_of(parent) if isinstance(fork, Fork)]
    return tuple(fork for fork in made if isolated.get(f"{fork.family}.{fork.variant}") == digest_bytes(fork.line))


def as_predicted(policy: str, row: Ruled) -> int | None:
    """Whether the catalogue's prediction for this policy came true; None where it makes none, or says "p"."""
    family, name = row.mutation.split(".")
    (variant,) = (variant for variant in FAMILIES[family].variants if variant.name == name)
    expected = variant.expected.get(policy, "p")
    return None if expected == "p" else int((row.answer == "rejected") == (expected == "Y"))


def ruled(policy: Policy, of: Fork | Parent, *, clock_us: Callable[[], int]) -> Ruled:
    """What the policy says, and how long it took by `clock_us`. An exception is its own failure and no verdict."""
    began = clock_us()
    verdict: Verdict
    try:
        verdict = policy.check(of.trusted, of.line)
    except Exception as error:  # a detector may raise anything; that has a denominator of its own
        verdict = Errored(message=f"{type(error).__name__}: {error}")
    spent = clock_us() - began
    origin = verdict.origin if isinstance(verdict, Rejected) else ""
    origins = {reason.origin for reason in verdict.reasons} if isinstance(verdict, Rejected) else set()
    fork = of if isinstance(of, Fork) else None
    seen = policy.view(of.line)
    return Ruled(
        mutation=f"{fork.family}.{fork.variant}" if fork else "",
        answer=type(verdict).__name__.lower(),
        origin=origin,
        exact=fork is not None and origin == fork.label.origin,
        view_bytes=len(seen),
        check_us=spent,
        view=digest_bytes(seen),
        named=fork is not None and fork.label.origin in origins,
        blind=fork is not None and fork.trusted == fork.parent.trusted and seen == policy.view(fork.parent.line),
    )
