"""The engineering preflight: does a paired edit stay visible in what a policy sees?

26 forks of five parents: the four dynamic editions of `underwriting` and its chain control. For each view it is asked
whether the view of the fork differs from that of the parent. No detector runs. So the counts are **an upper bound** on
what a detector could know: one that sees no difference cannot find the fork, and one that sees it need not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .catalogue import NUMBERED
from .fork import Fork, make_fork
from .parent import InapplicableError, Parent

View = Callable[[bytes], bytes]
LABEL = "an upper bound on what a detector could know, not a detection rate"
EDITIONS = ("document-addition", "policy-revision", "retraction-across-restore", "authority-conflict", "chain-control")
VIEWS = {"T": "terminal", "L+T": "event_log", "M+T": "milestones", "P+T": "causal", "W": "witness"}


def preflight_forks(parents: Sequence[Parent]) -> tuple[Fork, ...]:
    """M1 to M8 in the variant whose log tells the truth, of every parent that has a place for it."""
    forks = []
    for parent in parents:
        for family in NUMBERED:
            try:
                forks.append(make_fork(parent, family, "truth"))
            except InapplicableError:
                continue
    return tuple(forks)


def visible(forks: Sequence[Fork], views: Mapping[str, View]) -> dict[str, dict[str, int]]:
    """For each family, in how many of its `forks` each view (`T`, `L+T`, …) shows the edit."""
    table: dict[str, dict[str, int]] = {family: dict.fromkeys(("forks", *VIEWS), 0) for family in NUMBERED}
    for fork in forks:
        row = table[fork.family]
        row["forks"] += 1
        for name, policy in VIEWS.items():
            row[name] += views[policy](fork.line) != views[policy](fork.parent.line)
    return table
