"""What changed between two pins, sorted by what it can do to a verdict.

    protected   every section of the plan but title, confounds, power and rights: what is asked, and how it is ruled
    described   those four
    ruling      what verdicts come from: the judge's module with what it imports of its own package and the data files
                that lie there, `verifiers/`, and of sealkit `wire`, `plan`, `infer`, `verify` and what admits and
                measures
    harness     every other sealed file: the world, its agents, arms, the lock, the rest of sealkit

Sections are compared by their digests, files by theirs. What the judge imports is read off its text, which is never
run: relative imports are followed from module to module. What it reads is not found that way, so every file of its
package that is no Python module counts as ruling, but for the prompts that arms are given, unless a module of the
judge names one, as `"prompts/NAME.md"`. Where a module of it could reach further (`import_module`, `open`, `pathlib`,
…), every sealed file of the study counts as ruling.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import unified_diff
from typing import Final

import msgspec

from sealkit.plan.schema import Spec
from sealkit.seal.closure import LOCK, RESERVED, Closure, closure_files, drift
from sealkit.seal.commitment import Changed, FileChange, PlanSeal
from sealkit.seal.manifest import Manifest

DESCRIBED: Final = frozenset(("title", "confounds", "power", "rights"))
RULING_FOLDERS: Final = (
    "verifiers/", "sealkit/wire/", "sealkit/plan/", "sealkit/infer/",
    # what is read, admitted and measured, and so what enters a denominator, and what it makes of claims
    "sealkit/verify/", "sealkit/run/progress.py", "sealkit/seal/history.py", "sealkit/seal/dropped.py",
    "sealkit/publish/review/", "sealkit/publish/claims/", "sealkit/publish/far_ruling.py",
    # the same, where seals up to sealkit 0.2.0 have it
    "sealkit/publish/measuring.py", "sealkit/publish/review.py", "sealkit/publish/analyse.py",
    "sealkit/publish/amended.py", "sealkit/publish/asked.py", "sealkit/publish/late.py",
    "sealkit/publish/other_code.py",
    # what readings are made of
    "sealkit/world/beliefs.py", "sealkit/world/replies.py",
)  # fmt: skip
# What people ask first, and the sections that answer it.
ASKED: Final[Mapping[str, tuple[str, ...]]] = {
    "hypotheses": ("hypotheses",),
    "metrics": ("metrics",),
    "analysis": ("populations", "methods", "multiplicity", "effects", "reported_only"),
    "sample": ("factors", "sample"),
}
MOST_DIFF_LINES: Final = 400
MOST_DIFF_WIDTH: Final = 300


class Version(msgspec.Struct, frozen=True):
    """What one pin commits to, as far as it is compared; `judge` has the files that the judge is made of."""

    plan: PlanSeal
    spec: Spec
    closure: Closure
    manifest: Manifest
    judge: frozenset[str]


def changes(before: Version, after: Version) -> Changed:
    """What changed, sorted."""
    sections = changed_sections(before.plan.sections, after.plan.sections)
    ruling = before.judge | after.judge
    files = [FileChange(one.path, one.sealed, one.now) for one in drift(before.closure, after.closure)]
    return Changed(
        protected=tuple(name for name in sections if name not in DESCRIBED),
        described=tuple(name for name in sections if name in DESCRIBED),
        layout=before.plan.file != after.plan.file and not sections,
        ruling=tuple(one for one in files if is_ruling(one.path, ruling)),
        harness=tuple(one for one in files if not is_ruling(one.path, ruling)),
        scenarios=_moved_scenarios(before.manifest, after.manifest),
    )


def is_change(changed: Changed) -> bool:
    """Whether there is any change at all."""
    return changed != Changed(protected=(), described=(), layout=False, ruling=(), harness=(), scenarios=0)


def changed_sections(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """The sections whose digests differ, by name."""
    return tuple(name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name))


def unchanged_words(before: PlanSeal, after: PlanSeal) -> tuple[str, ...]:
    """Of hypotheses, metrics, analysis and sample, those of which every section has the same digest as before."""
    moved = set(changed_sections(before.sections, after.sections))
    return tuple(word for word, sections in ASKED.items() if not moved & set(sections))


def other_code(before: Closure, after: Closure) -> bool:
    """Whether any file but the lock is another: what runs in one process with a judge could change what it says.

    The lock, as the plan, lies beside nothing that is run (`Pinned.unpack_code`).

    The classes above say what a file is for. They do not bound what it can do, so no ruling rests on them alone.
    """
    return any(one.path != LOCK for one in drift(before, after))


def is_ruling(path: str, judge: frozenset[str]) -> bool:
    """Whether a file of a closure is ruling code, given the files of the judge."""
    return path in judge or path.startswith(RULING_FOLDERS)


def _moved_scenarios(before: Manifest, after: Manifest) -> int:
    if before.root == after.root:
        return 0
    then = {key: before.digest(*key) for key in before.keys()}  # noqa: SIM118 - it is no mapping
    now = {key: after.digest(*key) for key in after.keys()}  # noqa: SIM118
    return sum(then.get(key) != now.get(key) for key in then.keys() | now.keys())


# --- what the judge is made of -------------------------------------------------------------------

# No step of these goes back: what is read may be made to be slow. They are compiled at their first use, not at every
# start: most commands never read what a judge imports.
_RELATIVE_IMPORT: Final = (
    rb"(?m)(?:^|[;:])[ \t]*+from[ \t]*+(\.++)[ \t]*+((?:(?!import\b)[\w.]++)?+)[ \t]*+import\b[ \t]*+(\(?)"
)
_REACHES_FURTHER: Final = (
    rb"\b(importlib|__import__|__loader__|__spec__|__file__|pkgutil|runpy|globals|load_tools)\b"
    # Modules by which files can be read without any of the words below, or code be run.
    rb"|\b(pathlib|os|io|sys|inspect|linecache|fileinput|tokenize|mmap|sqlite3|zipfile|tarfile|subprocess|ctypes)\b"
    # A regular expression reaches nothing; what another `compile` makes needs one of the others to be run.
    rb"|\b(exec|eval|open|read_text|read_bytes|(?<!\bre\.)compile)[ \t]*+\("
)
# What arms are given of a world's folder.
_ARMS_PROMPTS: Final = ("prompts/actions.md", "prompts/beliefs.md")
# Texts that a reader of the judge's module is handed, such as the prompt of a diagnosis.
_PROMPT: Final = rb"""["'](prompts/[A-Za-z0-9._-]++)["']"""
_WORD: Final = rb"\w++"
_MOST_SCANNED: Final = 1 << 20


def own_files(closure: Closure) -> tuple[str, ...]:
    """The files of a pin that are the study's own: those that its judge could read."""
    names = (name for name, _ in closure_files(closure))
    return tuple(name for name in names if name != LOCK and name.partition("/")[0] not in RESERVED)


def judge_files(spec: Spec, own: Collection[str], sources: Mapping[str, bytes]) -> frozenset[str]:
    """What a judge is made of: its module, those of its folder that it imports, directly or not, and what they read.

    `own` are the `own_files` of the pin, and `sources` has the text of those that are Python modules.
    """
    if spec.judge is None:
        return frozenset()
    folder = spec.judge.rpartition("/")[0]
    waiting, found = [*_files(folder, sources), *_files(spec.judge, sources)], set[str]()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        imported = _imports(path, sources)
        if imported is None:
            return frozenset(own)
        waiting += imported
    named = {match.decode() for path in found for match in re.findall(_PROMPT, sources[path])}
    arms = {f"{folder}/{name}" for name in _ARMS_PROMPTS if name not in named}
    beside = (name for name in own if name.startswith(f"{folder}/") and not name.endswith(".py"))
    return frozenset((*found, *(name for name in beside if name not in arms)))


def _imports(path: str, sources: Mapping[str, bytes]) -> list[str] | None:
    """The files that this one imports of its own folder; None if it could import others too."""
    # A statement may go on after a backslash.
    text = sources[path].replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
    if re.search(_REACHES_FURTHER, text):
        return None
    found, scanned = list[str](), 0
    for match in re.finditer(_RELATIVE_IMPORT, text):
        base = path.rpartition("/")[0]
        for _ in range(len(match[1]) - 1):
            base = base.rpartition("/")[0]
        target = "/".join([base, *(part.decode("latin-1") for part in match[2].split(b".") if part)])
        names, length = _names(text, match.end(), in_brackets=bool(match[3]))
        scanned += length
        if scanned > _MOST_SCANNED:
            return None
        found += _files(target, sources)
        for name in names:
            found += _files(f"{target}/{name.decode('latin-1')}", sources)
    return found


def _names(text: bytes, start: int, *, in_brackets: bool) -> tuple[list[bytes], int]:
    """The words that an import statement names from `start` on, and how many bytes were looked at."""
    end, names = start, list[bytes]()
    while end < len(text) and end - start <= _MOST_SCANNED:
        line = text[end : text.find(b"\n", end) + 1 or len(text)]
        end += len(line)
        code = line.partition(b"#")[0]
        names += re.findall(_WORD, code.partition(b")" if in_brackets else b";")[0])
        if not in_brackets or b")" in code:
            break
    return names, end - start


def _files(module: str, sources: Mapping[str, bytes]) -> Iterator[str]:
    """The files that importing `module`, a path without its ending, runs: its own, and those of the folders above."""
    for path in (f"{module}.py", f"{module}/__init__.py"):
        if path in sources:
            yield path
    above = module.rpartition("/")[0]
    while above:
        if f"{above}/__init__.py" in sources:
            yield f"{above}/__init__.py"
        above = above.rpartition("/")[0]


# --- in words ------------------------------------------------------------------------------------


def unified(changed: Iterable[str], before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """A unified diff of these files, at most `MOST_DIFF_LINES` lines; binary files and long lines are cut."""
    left = MOST_DIFF_LINES
    for path in changed:
        old, new = (_lines(version.get(path)) for version in (before, after))
        for line in unified_diff(old, new, f"before/{path}", f"after/{path}", lineterm=""):
            if not left:
                yield f"… cut after {MOST_DIFF_LINES} lines"
                return
            left -= 1
            yield line if len(line) <= MOST_DIFF_WIDTH else f"{line[:MOST_DIFF_WIDTH]}…"


def _lines(data: bytes | None) -> list[str]:
    return data.decode("utf-8", errors="replace").splitlines() if data is not None else []
