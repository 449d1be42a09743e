"""The contract of an evidence policy: it sees its view of an episode and nothing else.

    check(trusted, episode) == rule(trusted, view(episode))

Policies are what `verifiers/NAME/policies.py` declares. Each keeps these clauses beside those of its verifier.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from sealkit.verify.conformance.finding import Broken, spell_verdict
from sealkit.wire.canon import decode_value, encode_value
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.verdict import Abstained, Accepted, Verdict
from sealkit.world.loader import Policy

Evidence: TypeAlias = Sequence[tuple[Trusted, bytes]]
Clause: TypeAlias = tuple[str, Callable[[], str]]
FEW = 12
_TABLES = ("field mapping", "information loss")


def policy_clauses(folder: Path, policies: Mapping[str, Policy], corpus: Evidence) -> Iterator[Clause]:
    """The clauses that every policy of the folder keeps over `corpus`, trial episodes of the study's worlds."""
    few = corpus[:: max(1, len(corpus) // FEW)]
    yield "its SPEC.md says what its views keep and lose", lambda: _tables(folder)
    for name, policy in policies.items():
        yield f"{name}: rejects nothing faithful, and says what is missing", partial(_faithful, policy, corpus)
        yield f"{name}: its view is canonical and a function of the episode", partial(_pure, policy, few)
        yield f"{name}: its view tells nothing of slot or pin", partial(_blind, policy, few)
        yield f"{name}: its verdict is a function of its view", partial(_view_alone, policy, few)
        yield f"{name}: what it does not see, it does not judge", partial(_unseen, policy, few)


def _tables(folder: Path) -> str:
    text = (folder / "SPEC.md").read_text(encoding="utf-8").lower()
    missing = [table for table in _TABLES if table not in text]
    if missing:
        raise Broken(f"verifiers/{folder.name}/SPEC.md has no {' and no '.join(missing)}; write the table")
    return " and ".join(_TABLES)


def _faithful(policy: Policy, corpus: Evidence) -> str:
    abstained = 0
    for trusted, line in corpus:
        verdict = policy.check(trusted, line)
        if isinstance(verdict, Abstained):
            abstained += 1
            if not verdict.missing.strip():
                raise Broken(f"slot {trusted.slot}: it abstains and does not say what is missing")
        elif not isinstance(verdict, Accepted):
            raise Broken(f"slot {trusted.slot}: {spell_verdict(verdict)}")
    return f"{len(corpus) - abstained} accepted, {abstained} abstained"


def _pure(policy: Policy, corpus: Evidence) -> str:
    for trusted, line in corpus:
        seen = policy.view(line)
        if seen != policy.view(bytes(bytearray(line))):
            raise Broken(f"slot {trusted.slot}: asked twice, it saw two things")
        if encode_value(decode_value(seen, where="view")) != seen:
            raise Broken(f"slot {trusted.slot}: the view is not written in the one spelling")
    return f"{len(corpus)} views"


def _blind(policy: Policy, corpus: Evidence) -> str:
    """Another slot under another pin, all else as it is: nothing of either may be read off the view."""
    mark = "quite-another-level"
    for trusted, line in corpus:
        document: dict[str, Any] = json.loads(line)
        document["slot"] = {name: mark for name in trusted.slot}
        seen = policy.view(_record_again(document))
        if mark.encode() in seen:
            raise Broken("the view tells a level of the slot; a digest binds it as well")
        keys = set(_keys(json.loads(seen)))
        if keys & {"family", "mutation", "label"}:
            raise Broken(f"the view has a member called {', '.join(sorted(keys & {'family', 'mutation', 'label'}))}")
    return f"{len(corpus)} views"


def _keys(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from _keys(value)
    elif isinstance(node, list):
        for value in node:
            yield from _keys(value)


def _view_alone(policy: Policy, corpus: Evidence) -> str:
    for trusted, line in corpus:
        if policy.check(trusted, line) != policy.rule(trusted, policy.view(line)):
            raise Broken(f"slot {trusted.slot}: the verdict on the episode is not that on its view")
    return f"{len(corpus)} episodes"


def _unseen(policy: Policy, corpus: Evidence) -> str:
    """Small edits all over the record: wherever the view stays as it was, so does the verdict."""
    same = changed = 0
    for trusted, line in corpus[:3]:
        seen, verdict = policy.view(line), policy.check(trusted, line)
        for edit in _edits(line):
            try:
                other = policy.view(edit)
            except MalformedError:
                continue
            if other != seen:
                changed += 1
            elif (said := policy.check(trusted, edit)) != verdict:
                raise Broken(f"the view is the same, the verdict is not: {_words(verdict)}; {_words(said)}")
            else:
                same += 1
    return f"{same + changed} edits, {changed} of them seen"


def _words(verdict: Verdict) -> str:
    return spell_verdict(verdict)[:80]


def _edits(line: bytes) -> Iterator[bytes]:
    document = json.loads(line)
    places = list(_leaves(document, ()))
    for way in places[:: max(1, len(places) // 60)]:
        edited: Any = json.loads(line)
        node = edited
        for key in way[:-1]:
            node = node[key]
        node[way[-1]] = _other(node[way[-1]])
        yield _record_again(edited)


def _leaves(node: Any, way: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, (dict, list)) and node:
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in items:
            yield from _leaves(value, (*way, key))
    elif not isinstance(node, (dict, list)):
        yield way


def _other(value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    text = "" if value is None else str(value)
    return text[:-1] + ("0" if text[-1] != "0" else "1") if text.startswith("sha256:") else text + "x"


def _record_again(document: dict[str, Any]) -> bytes:
    """The line of an edited episode, with its record digest made right."""
    document["closing"].pop("record", None)
    document["closing"]["record"] = "sha256:" + hashlib.sha256(encode_value(document)).hexdigest()
    return encode_value(document)
