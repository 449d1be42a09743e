"""Loading a study's own code by path: what it gives, and every way in which it cannot be loaded."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import sys
from pathlib import Path

import pytest

from sealkit.wire.canon import decode_value
from sealkit.wire.episode import Action
from sealkit.wire.errors import HarnessError, UsageError
from sealkit.world.loader import load_judge, load_verifier, load_world, make_scenario
from tests.world.makeshift import AGENTS, JUDGE, WORLD, edited, lamp, put_world

TOY = Path(__file__).parents[1] / "toy"


def test_a_world_is_loaded_with_its_families_and_agents(tmp_path: Path) -> None:
    world = lamp(tmp_path)
    assert world.name == "lamp"
    assert world.families == ("calm", "windy")
    assert list(world.agents) == ["lighter"] and not world.agents["lighter"].reads_truth


def test_a_world_without_agents_has_none(tmp_path: Path) -> None:
    put_world(tmp_path, agents="")
    assert load_world(tmp_path, "lamp").agents == {}


def test_a_judge_is_loaded_with_its_measures(tmp_path: Path) -> None:
    put_world(tmp_path)
    judge, measures = load_judge(tmp_path, "worlds/lamp/judge")
    assert callable(judge) and measures == ("lit",)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"world": ""}, "worlds/lamp/world.py: loading it raised ModuleNotFoundError"),
        ({"world": "1 / 0"}, "worlds/lamp/world.py: loading it raised ZeroDivisionError: division by zero"),
        ({"world": "def"}, "worlds/lamp/world.py: loading it raised SyntaxError"),
        ({"world": "import no_such_module"}, "worlds/lamp/world.py: loading it raised ModuleNotFoundError"),
        ({"world": edited(WORLD, "FAMILIES", "KINDS")}, "worlds/lamp/world.py: the module declares no FAMILIES"),
        ({"world": edited(WORLD, "def scenario", "def scene")}, "worlds/lamp/world.py: the world has no function scenario"),
        ({"world": edited(WORLD, "def act", "def go")}, "worlds/lamp/world.py: the world has neither act nor session"),
        ({"agents": "raise SystemError('no')"}, "worlds/lamp/agents.py: loading it raised SystemError: no"),
        ({"agents": edited(AGENTS, "AGENTS", "ACTORS")}, "worlds/lamp/agents.py: the module declares no AGENTS"),
    ],
)  # fmt: skip
def test_a_world_that_does_not_load_is_named(files: dict[str, str], says: str, tmp_path: Path) -> None:
    put_world(tmp_path, **files)
    with pytest.raises(HarnessError) as refused:
        load_world(tmp_path, "lamp")
    assert str(refused.value).startswith(says)


def test_a_package_that_does_not_load_is_named(tmp_path: Path) -> None:
    folder = put_world(tmp_path)
    (folder / "__init__.py").write_text("raise ValueError('early')", encoding="utf-8")
    with pytest.raises(HarnessError, match=r"lamp/__init__.py: loading it raised ValueError: early"):
        load_world(tmp_path, "lamp")


def test_a_world_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"worlds/lamp: there is no such folder with an __init__.py"):
        load_world(tmp_path, "lamp")


@pytest.mark.parametrize(
    ("judge", "says"),
    [
        (edited(JUDGE, "def judge", "def rule"), "worlds/lamp/judge.py: the module has no function judge"),
        (edited(JUDGE, "MEASURES", "NUMBERS"), "worlds/lamp/judge.py: the module declares no MEASURES"),
        ("", "worlds/lamp/judge.py: loading it raised ModuleNotFoundError"),
    ],
)
def test_a_judge_that_does_not_load_is_named(judge: str, says: str, tmp_path: Path) -> None:
    put_world(tmp_path, judge=judge)
    with pytest.raises(HarnessError) as refused:
        load_judge(tmp_path, "worlds/lamp/judge")
    assert str(refused.value).startswith(says)


def test_a_verifier_without_check_is_named(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    (tmp_path / "check.py").write_text("chek = None", encoding="utf-8")
    with pytest.raises(HarnessError, match=r"check.py: the module has no function check"):
        load_verifier(tmp_path)


# --- whose code runs -------------------------------------------------------------------------------


def test_each_study_has_its_own_world_of_the_same_name(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    first = lamp(one)
    second = lamp(two, "Light the lamp, then", "Light the other lamp, then")
    assert make_scenario(first, "calm", 0, {}).briefing != make_scenario(second, "calm", 0, {}).briefing


def test_the_folder_is_found_again_from_another_place_under_the_same_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python keeps what it knows of `worlds/lamp` under that spelling, wherever that was."""
    for name in ("one", "two"):
        put_world(tmp_path / name, world=edited(WORLD, "Light the lamp", f"Light lamp {name}"))
        monkeypatch.chdir(tmp_path / name)
        scenario = make_scenario(load_world(Path("."), "lamp"), "calm", 0, {})
        assert scenario.briefing.startswith(f"Light lamp {name}")


def test_what_runs_is_the_source_and_no_cached_compile_of_another(tmp_path: Path) -> None:
    folder = put_world(tmp_path)
    source = folder / "world.py"
    stamp = source.stat().st_mtime_ns
    other = edited(WORLD, "Light the lamp", "Break the lamp")  # of the same length
    source.write_text(other, encoding="utf-8")
    os.utime(source, ns=(stamp, stamp))
    cache = importlib.util.cache_from_source(str(source))
    py_compile.compile(str(source), cfile=cache, doraise=True)
    source.write_text(WORLD, encoding="utf-8")
    os.utime(source, ns=(stamp, stamp))  # the cache now passes for a compile of this source
    assert make_scenario(load_world(tmp_path, "lamp"), "calm", 0, {}).briefing.startswith("Light")


def test_loading_leaves_no_files_and_no_public_names(tmp_path: Path) -> None:
    folder, before = put_world(tmp_path), set(sys.modules)
    load_world(tmp_path, "lamp")
    assert sorted(path.name for path in folder.iterdir()) == [
        "SPEC.md",
        "__init__.py",
        "agents.py",
        "judge.py",
        "world.py",
    ]
    assert not {"worlds", "lamp"} & (set(sys.modules) - before)


# --- sessions ------------------------------------------------------------------------------------


def test_a_pure_world_comes_back_to_a_snapshot(tmp_path: Path) -> None:
    world = lamp(tmp_path)
    session = world.session(make_scenario(world, "calm", 0, {}))
    before, kept = session.material(), session.snapshot()
    session.act(Action(name="light", args={}))
    assert session.material() != before
    session.restore(kept)
    assert session.material() == before


def test_a_stateful_world_is_handed_out_as_a_copy() -> None:
    world = load_world(TOY, "toy")
    session = world.session(make_scenario(world, "calm", 0, {}))
    before = session.material()
    kept = decode_value(b'{"level":4,"valve":"open"}')
    session.act(Action(name="fill", args={}))
    assert before["tank"] == kept, "what was handed out changed behind our back"
    assert session.material()["tank"] == {"level": 6, "valve": "open"}
