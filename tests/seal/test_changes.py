"""What changed between two pins, sorted: by digest, by path, and by what the judge imports."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sealkit.plan.load import open_plan
from sealkit.plan.schema import Spec
from sealkit.seal.changes import (
    MOST_DIFF_LINES,
    Version,
    changes,
    is_change,
    judge_files,
    own_files,
    unchanged_words,
    unified,
)
from sealkit.seal.closure import Closure, make_closure
from sealkit.seal.commitment import FileChange
from sealkit.seal.manifest import Manifest, open_manifest, write_manifest
from sealkit.seal.places import declared
from sealkit.seal.seal import open_world, planned_scenarios, seal_of_plan
from tests.seal.studies import edit, make_study, plan_of

FOLDER = "worlds/pond"
READ = {f"{FOLDER}/prompts/diagnoser.md", f"{FOLDER}/tools/submit.json"}
GIVEN = {f"{FOLDER}/prompts/actions.md", f"{FOLDER}/prompts/beliefs.md"}  # to arms
ELSEWHERE = {"arms/toad/agent.py", "harness/data.csv"}
DATA = READ | GIVEN | ELSEWHERE


def files_of(spec: Spec, **sources: str) -> frozenset[str]:
    """What the judge is made of where its folder has these: `judge`, `sub__deep` for `sub/deep.py`, `sub____init` …"""
    names = {name: name.replace("__init", "INIT").replace("__", "/").replace("INIT", "__init__") for name in sources}
    files = {f"{FOLDER}/{names[name]}.py": text.encode() for name, text in sources.items()}
    return judge_files(spec, [*files, *DATA], files)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    return open_plan(plan_of(make_study(tmp_path_factory.mktemp("study")))).spec


def names(found: frozenset[str]) -> set[str]:
    """Its modules: whatever it imports, what lies beside it is its own too."""
    assert found & DATA in (READ, DATA)
    return {path.removeprefix(f"{FOLDER}/").removesuffix(".py") for path in found - DATA}


def test_the_judge_is_its_module_and_what_that_imports_of_its_own_package(spec: Spec) -> None:
    found = files_of(
        spec,
        judge="from .faults import Fault\nfrom sealkit.wire.episode import Act\nimport math\n",
        faults="from .ground import door\n",
        ground="",
        world="from .judge import judge\n",
        agents="",
    )
    assert names(found) == {"judge", "faults", "ground"}


@pytest.mark.parametrize(
    "line",
    [
        "from .a import b",
        "from . import a",
        "from . import (\n    z,\n    a,  # why\n)",
        "from .  import  z,a",
        "from \\\n    . import \\\n    a",
        "def judge():\n    from .a import b",
        "x = 1; from .a import b",
        "if x: from . import a",
        "from.a import b",
        "from . a import b",
        "from . import (  # (a note)\n    z,  # of z)\n    a)\n",
    ],
)
def test_a_relative_import_is_seen_however_it_is_written(spec: Spec, line: str) -> None:
    assert names(files_of(spec, judge=line + "\n", a="", other="")) == {"judge", "a"}


def test_what_runs_when_a_package_is_imported_is_ruling_too(spec: Spec) -> None:
    found = files_of(spec, judge="from .sub.deep import x\n", sub____init="from . import more\n", sub__deep="from ..top import y\n",
                sub__more="", sub__never="", top="", __init="")  # fmt: skip
    assert {path.removeprefix(f"{FOLDER}/") for path in found - READ} == {
        "judge.py", "sub/__init__.py", "sub/deep.py", "sub/more.py", "top.py", "__init__.py",
    }  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "import importlib",
        "__import__('worlds.pond.world')",
        "text = open('table.csv').read()",
        "exec(code)",
        "Path(__file__).with_name('t').read_text ()",
        "TOOLS = load_tools(Path(FOLDER))",
        "from pathlib import Path as P",
        "lines = list(map(P.open, [__file__]))",
    ],
)
def test_where_a_judge_could_reach_further_every_file_of_the_study_is_ruling(spec: Spec, line: str) -> None:
    assert files_of(spec, judge=line + "\n", world="") == {f"{FOLDER}/judge.py", f"{FOLDER}/world.py", *DATA}
    assert names(files_of(spec, judge="", world=line + "\n")) == {"judge"}  # what it does not import may


def test_a_regular_expression_reaches_nothing(spec: Spec) -> None:
    assert names(files_of(spec, judge="import re\nfind = re.compile('x').search\n", world="")) == {"judge"}
    assert names(files_of(spec, judge="code = compile('x', 'y', 'eval')\n", world="")) == {"judge", "world"}
    assert names(files_of(spec, judge="code = more.compile('x', 'y', 'eval')\n", world="")) == {"judge", "world"}


def test_what_lies_beside_the_judge_is_ruling_but_for_the_prompts_of_arms(spec: Spec) -> None:
    found = files_of(spec, judge="from .diagnosis import X\n", diagnosis="", world="x = 'prompts/actions.md'\n")
    assert found == {f"{FOLDER}/judge.py", f"{FOLDER}/diagnosis.py", *READ}
    found = files_of(spec, judge="prompt = text('prompts/actions.md')\n")
    assert found == {f"{FOLDER}/judge.py", f"{FOLDER}/prompts/actions.md", *READ}


def test_a_door_that_is_open_is_no_open_file(spec: Spec) -> None:
    assert names(files_of(spec, judge="door == 'open'  # reopened (twice)\n", world="")) == {"judge"}


@pytest.mark.parametrize(
    "text",
    [
        "from . import (\n" * 300_000,
        "from" + "." * 4_000_000,
        "from ." + "a." * 2_000_000,
        ":" * 2_000_000 + "from " * 500_000,
        "from . import " + "a, " * 1_000_000,
        "exec " * 500_000 + "x",
        "exec" + " " * 4_000_000,
        "\\\n" * 1_000_000,
    ],
    ids=["brackets", "dots", "names", "colons", "words", "execs", "spaces", "lines"],
)
def test_a_judge_made_to_be_slow_is_read_in_time(spec: Spec, text: str) -> None:
    started = time.process_time()
    found = names(files_of(spec, judge=text, a="", world=""))
    assert "judge" in found and ("world" in found or "brackets" not in text)
    assert time.process_time() - started < 20  # a second or two; what goes back and forth takes hours


# --- whole versions --------------------------------------------------------------------------------


def standing(study: Path, scratch: Path) -> tuple[Version, Manifest]:
    """The version that the study's folder is now."""
    plan = open_plan(plan_of(study))
    closure: Closure = make_closure(study, declared(plan.spec))
    sealed = write_manifest(scratch / "manifest.jsonl", planned_scenarios(plan, open_world(study, plan)))
    manifest = open_manifest(scratch / "manifest.jsonl", sealed, inside=scratch)
    own = own_files(closure)
    judge = judge_files(plan.spec, own, {name: (study / name).read_bytes() for name in own})
    return Version(seal_of_plan(plan_of(study), study, plan), plan.spec, closure, manifest, judge), manifest


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return make_study(tmp_path / "study")


@pytest.fixture
def before(study: Path, tmp_path: Path) -> Iterator[Version]:
    found, manifest = standing(study, tmp_path)
    with manifest:
        yield found


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def test_nothing_changed(study: Path, before: Version, scratch: Path) -> None:
    assert not is_change(changes(before, standing(study, scratch)[0]))


def test_every_kind_of_change_has_its_place(study: Path, before: Version, scratch: Path) -> None:
    edit(plan_of(study), "every time", "at times")
    edit(plan_of(study), "title: Does", "title: How often does")
    edit(study / "worlds/pond/judge.py", '"success": 1', '"success": 0')
    edit(study / "worlds/pond/world.py", '"Jump."', '"Jump now."')
    edit(study / "verifiers/strict/check.py", "NotImplementedError", "RuntimeError")
    (study / "arms/toad/more.py").write_text("")
    (study / "worlds/pond/SPEC.md").unlink()
    edit(study / "requirements.lock", "00", "11")
    found = changes(before, standing(study, scratch)[0])
    assert (found.protected, found.described, found.layout) == (("hypotheses",), ("title",), False)
    assert [str(file) for file in found.ruling] == [
        "verifiers/strict/check.py changed", "worlds/pond/SPEC.md removed", "worlds/pond/judge.py changed",
    ]  # fmt: skip
    assert [str(file) for file in found.harness] == [
        "arms/toad/more.py added", "requirements.lock changed", "worlds/pond/world.py changed",
    ]  # fmt: skip
    assert found.scenarios == 9  # the briefing is part of every scenario
    assert is_change(found)


@pytest.mark.parametrize(
    ("section", "old", "new"),
    [
        ("question", "as often", "just as often"),
        ("metrics", "primary: true", "primary: false"),
        ("methods", "0.95", "0.9"),
        ("sample", "max: 2", "max: 3"),
        ("claims", "The frog jumped.", "The frog jumps."),
        ("gates", "claims_follow_map, files_verify", "files_verify"),
    ],
)
def test_a_section_is_protected_by_its_digest(
    study: Path, before: Version, scratch: Path, section: str, old: str, new: str
) -> None:
    edit(plan_of(study), old, new)
    found = changes(before, standing(study, scratch)[0])
    assert (found.protected, found.described, found.layout) == ((section,), (), False)


@pytest.mark.parametrize(
    ("section", "old", "new"),
    [("title", "Does", "How"), ("confounds", "same author", "same two authors"), ("power", "is", "was"),
     ("rights", "humans: none", "humans: one")],
)  # fmt: skip
def test_what_describes_is_told_apart(
    study: Path, before: Version, scratch: Path, section: str, old: str, new: str
) -> None:
    edit(plan_of(study), old, new)
    found = changes(before, standing(study, scratch)[0])
    assert (found.protected, found.described, found.layout) == ((), (section,), False)


def test_a_comment_changes_no_section(study: Path, before: Version, scratch: Path) -> None:
    edit(plan_of(study), "readings: {}", "readings: {}  # none")
    found = changes(before, standing(study, scratch)[0])
    assert (found.protected, found.described, found.layout) == ((), (), True)
    assert is_change(found)


def test_scenarios_are_compared_one_by_one(study: Path, before: Version, scratch: Path) -> None:
    edit(plan_of(study), "seed: [7, 0, 3]", "seed: [7, 0, 5]")
    edit(plan_of(study), "frog.x == 6", "frog.x == 6 ")
    found = changes(before, standing(study, scratch)[0])
    assert found.scenarios == 4  # two families lose seed 3 and gain seed 5


def test_what_is_asked_first_is_unchanged_only_if_every_section_of_it_is(
    study: Path, before: Version, scratch: Path
) -> None:
    edit(plan_of(study), "0.95", "0.9")
    after = standing(study, scratch)[0]
    assert unchanged_words(before.plan, after.plan) == ("hypotheses", "metrics", "sample")
    assert unchanged_words(before.plan, before.plan) == ("hypotheses", "metrics", "analysis", "sample")


# --- in words --------------------------------------------------------------------------------------


def test_a_diff_shows_both_sides_and_is_bounded() -> None:
    lines = list(unified(["a"], {"a": b"one\ntwo\n"}, {"a": b"one\nthree\n"}))
    assert lines == ["--- before/a", "+++ after/a", "@@ -1,2 +1,2 @@", " one", "-two", "+three"]
    assert list(unified(["new"], {}, {"new": b"x\n"}))[-1] == "+x"
    vast = list(unified(["a"], {}, {"a": b"x\n" * 10_000}))
    assert len(vast) == MOST_DIFF_LINES + 1 and vast[-1] == f"… cut after {MOST_DIFF_LINES} lines"
    assert len(list(unified(["a"], {}, {"a": b"x" * 10_000}))[-1]) < 400


def test_bytes_that_are_no_text_are_shown_as_what_they_are() -> None:
    assert list(unified(["a"], {"a": b"\xff\n"}, {"a": b"\xfe\xff\n"}))[-1] == "+\ufffd\ufffd"


def test_a_change_is_told_in_a_word() -> None:
    assert str(FileChange("a", None, "x")) == "a added" and str(FileChange("a", "x", None)) == "a removed"
