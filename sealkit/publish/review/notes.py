"""What a review has to say beside its counts, none of it a fault: of calls, clocks, verifiers, files, machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sealkit.seal.closure import environment, environment_changes, sealkit_drift
from sealkit.seal.places import beside
from sealkit.seal.sealed import find_drift
from sealkit.verify.study import Study
from sealkit.wire.errors import SealkitError
from sealkit.wire.text import counted


def notes_of(study: Study, clock_went_back: tuple[int, ...]) -> tuple[str, ...]:
    """The notes on a study whose episodes were gone through; the clock went back before these entries."""
    sealed = study.sealed
    notes = list(_call_notes(study))
    back = "order comes from the chain"
    notes += [f"the clock went back before entry {number}: {back}" for number in clock_went_back[:5]]
    states = {(name, state) for under in study.under.values() for name, state in under.verifiers.items()}
    notes += [_of_another(study, name) for name, state in sorted(states) if state.startswith("differs")]
    notes += [f"verifier {name} is not checked: it needs the study's code (--replay)" for name in study.unchecked]
    if states and all(state == "the study's own" for _, state in states):
        notes.append("admitted by the study's own verifiers alone: no verifier of yours ruled on this evidence")
    since = "the seal" if not sealed.latest.number else f"amendment {sealed.latest.number}"
    if _has_working_tree(sealed.study):
        try:
            moved = [str(one) for one in find_drift(sealed)]
        except SealkitError as error:
            moved = [str(error)]
        if moved:
            archive = beside(sealed.path, "source.tar", sealed.latest.number).name
            files = f"{counted(len(moved), 'file')} to compare with {archive}, the first: {moved[0]}"
            notes.append(
                f"the working tree has moved on since {since}; the sealed bytes were checked, not these. {files}"
            )
    elif own := sealkit_drift(sealed.latest.closure):
        files = f"{counted(len(own), 'file')}, the first: {own[0]}"
        notes.append(f"this sealkit is another than at {since}, which takes nothing from this check. {files}")
    changes = environment_changes(sealed.latest.closure.environment, environment())
    if changes:
        notes.append(f"another environment than at the seal: {'; '.join(changes[:4])}{' …' if changes[4:] else ''}")
    return tuple(notes)


def _of_another(study: Study, name: str) -> str:
    """What it means that the reviewer's verifier is not, byte for byte, the sealed one."""
    by = "yours ruled here, and the sealed one too" if study.sandbox is not None else "yours ruled here"
    more = "" if study.sandbox is not None else "; with --replay the sealed one rules too"
    return f"verifier {name}: the study was sealed with another version of it; {by}{more}"


def _has_working_tree(study: Path) -> bool:
    """Whether there is more of a study here than its records: in a bundle there is not."""
    return any((study / name).is_dir() for name in ("worlds", "verifiers", "arms"))


def _call_notes(study: Study) -> Iterator[str]:
    """What there is to say of calls to models beside their counts."""
    if study.calls.withheld:
        yield f"{study.calls.withheld} bodies of calls are withheld: what they hold is not checked"
    if (beyond := study.calls.spending.beyond).calls:
        more = f"{beyond.tokens} tokens and {beyond.cost_microusd} micro-USD"
        yield f"{counted(beyond.calls, 'request')} used {more} more than was set aside, by what the replies state"
    if study.reruns.same:
        yield f"{study.reruns.same} episodes run again by their sealed arms from the recorded replies, the same bytes"
    if study.reruns.withheld:
        yield f"{study.reruns.withheld} episodes cannot be run again by their arms: replies are withheld"
    if study.readings.same:
        yield f"{study.readings.same} readings asked and read again by the sealed judge, with the same result"
    if study.readings.withheld:
        yield f"{study.readings.withheld} readings cannot be read again: replies are withheld"
    if study.reruns.programs:
        yield f"{study.reruns.programs} episodes of arms that are programs are not run again by these"
