"""Keys that a study's own code could give away: out of its sight while it plays, and looked for in all that it leaves.

    with keys_apart(os.environ) as keys:
        endpoints = read_endpoints(..., environ=keys)
        ...                                         # os.environ has none meanwhile, nor has a process that is started

Code in the same process could still find a key elsewhere in memory. So every outcome of an attempt or a reading passes
`unleaked` before it is recorded or told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import replace

from sealkit.agents.models.endpoint import KEY
from sealkit.agents.models.secrets import Watch
from sealkit.run.outcome import Broke, CutOff, Kept, Outcome, Said
from sealkit.wire.canon import encode_value

_NOT_KEPT = "what looks like a key; it is not kept"


def take_keys(environ: MutableMapping[str, str]) -> dict[str, str]:
    """The variables that hold keys for endpoints; they are not in `environ` after this."""
    return {name: environ.pop(name) for name in tuple(environ) if name == KEY or name.startswith(f"{KEY}_")}


@contextmanager
def keys_apart(environ: MutableMapping[str, str]) -> Iterator[Mapping[str, str]]:
    """The variables that hold keys, which are not in `environ` meanwhile."""
    keys = take_keys(environ)
    try:
        yield keys
    finally:
        environ.update(keys)


def unleaked(outcome: Outcome, watch: Watch) -> Outcome:
    """The outcome, without what looks like a key: an episode or a reading that holds one broke."""
    if isinstance(outcome, Kept):
        leaks = watch.found_in(outcome.line)
        return Broke("harness_error", f"the episode holds {_NOT_KEPT}", outcome.calls) if leaks else outcome
    if isinstance(outcome, Said):
        leaks = watch.found_in(encode_value(outcome.said))
        return Broke("harness_error", f"what was read holds {_NOT_KEPT}", outcome.calls) if leaks else outcome
    if isinstance(outcome, Broke | CutOff) and watch.found_in(outcome.why.encode(errors="replace")):
        return replace(outcome, why=f"the message holds {_NOT_KEPT}")
    return outcome
