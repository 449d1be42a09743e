"""What runs beside a judge: nothing of the study but the files that it is made of."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import cast

import pytest

from sealkit.plan.actors import ReferenceWorld
from sealkit.publish.review.measuring import pins_of_other_code
from sealkit.seal.closure import Closure, Declared, make_closure
from sealkit.seal.pins import Pinned
from sealkit.seal.sealed import SealedPlan
from sealkit.verify.child import Child
from sealkit.verify.sandbox import Sandbox
from sealkit.verify.sandboxes import JUDGE, VERIFIER, WORLD, Part, open_sandbox
from sealkit.wire.canon import encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Action, Trusted
from sealkit.wire.errors import HarnessError
from sealkit.wire.trace import bare
from sealkit.world.loader import load_world, make_scenario
from tests.verify.trap import make_source
from tests.world.makeshift import JUDGE as LAMP_JUDGE
from tests.world.makeshift import WORLD as LAMP
from tests.world.makeshift import edited, put_world

SLOT: dict[str, str | int] = {"arm": "lighter", "family": "calm", "seed": 0}
# What a hostile reviewer appended to a world after the analysis: it rebinds the judge of whatever process it is in.
REBINDS = """

import sys

for module in list(sys.modules.values()):
    if child := vars(module).get("Child"):
        child._judge = lambda self, raw: {"measures": {"lit": 1}}
"""
LYING_CHILD = "\n\nChild._judge = lambda self, raw: {'measures': {'lit': 1}}\n"
ALONE = 'HELLO: Final[dict[str, Json]] = {"alone": True, "protocol": PROTOCOL}'


def dark() -> tuple[bytes, bytes]:
    """A scenario, and an episode of it in which nobody lights the lamp."""
    with TemporaryDirectory() as folder:
        put_world(Path(folder))
        child = Child(Path(folder))
        child.world = load_world(Path(folder), "lamp")
        scenario = encode_record(make_scenario(child.world, "calm", 0, {}))
        trusted = Trusted(pin=digest_bytes(b"pin"), judge=digest_bytes(b"judge"), slot=SLOT, scenario=scenario)
        return scenario, child.run_again(trusted, (bare(Action(name="done", args={})),), "final", "")


DARK = dark()


@pytest.fixture(scope="module")
def lamp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("sandboxes") / "source")


def pinned(source: Path) -> Pinned:
    """As much of a pin as is opened: its plan's world and judge, its closure, its source."""
    plan = SimpleNamespace(path="plans/lamp.yaml")
    spec = SimpleNamespace(world=ReferenceWorld(kind="reference", name="lamp", params={}), judge="worlds/lamp/judge")
    pin = cast(
        Pinned,
        SimpleNamespace(
            plan=SimpleNamespace(spec=spec), commitment=SimpleNamespace(sealkit="1.0", plan=plan),
            closure=make_closure(source, Declared(trees=("worlds/lamp",), foreign=())),
            unpack_source=lambda into: shutil.copytree(source, into, dirs_exist_ok=True),
            unpack_code=lambda into: Pinned.unpack_code(pin, into),
        ),
    )  # fmt: skip
    return pin


def open_lamp(source: Path, part: Part, *, own: bool = False) -> Sandbox:
    with open_sandbox(pinned(source), part, "limits", own=own) as sandbox:
        return sandbox


def measured(source: Path, *, own: bool = False) -> object:
    """What is measured of an episode in which nobody lit the lamp."""
    with open_sandbox(pinned(source), JUDGE, "limits", own=own) as judge:
        return judge.judge(*DARK)


def test_a_world_that_rebinds_the_judge_shares_no_process_with_it(lamp: Path) -> None:
    put_world(lamp, world=LAMP + REBINDS)
    assert measured(lamp) == {"lit": 0}


def test_a_judge_that_reaches_a_file_which_nobody_saw_it_import_finds_none(lamp: Path) -> None:
    """It goes through a name of sealkit's own: no word of it says that a file is read."""
    put_world(lamp, judge=edited(LAMP_JUDGE, "MEASURES", "from .world import FAMILIES\nMEASURES"))
    open_lamp(lamp, JUDGE)  # what it imports in plain words is its own, and lies beside it
    hidden = "import sealkit.world.loader as loader\nloader.import_module(__package__ + '.world')\n"
    put_world(lamp, judge=edited(LAMP_JUDGE, "MEASURES", f"{hidden}MEASURES"))
    with pytest.raises(HarnessError, match=r"No module named .*world"):
        open_lamp(lamp, JUDGE)
    put_world(lamp)


def test_a_sealed_child_that_lies_is_not_this_sealkits(lamp: Path) -> None:
    put_world(lamp)
    child = lamp / "sealkit" / "verify" / "child.py"
    honest = child.read_text(encoding="utf-8")
    child.write_text(honest + LYING_CHILD, encoding="utf-8")
    try:
        assert measured(lamp) == {"lit": 1}
        assert measured(lamp, own=True) == {"lit": 0}
    finally:
        child.write_text(honest, encoding="utf-8")


def test_a_child_of_an_older_sealkit_is_given_world_and_judge(lamp: Path) -> None:
    put_world(lamp)
    child = lamp / "sealkit" / "verify" / "child.py"
    honest = child.read_text(encoding="utf-8")
    older = edited(honest, ALONE, 'HELLO: Final[dict[str, Json]] = {"protocol": PROTOCOL}')
    child.write_text(edited(older, 'request.get("world"), request.get("judge")', 'request["world"], request["judge"]'))
    try:
        for part in (WORLD, JUDGE):
            with open_sandbox(pinned(lamp), part, "limits") as sandbox:
                assert not sandbox.alone and sandbox.scenario("calm", 0, {})
    finally:
        child.write_text(honest, encoding="utf-8")


READS = """

from pathlib import Path

for name in ("plans/lamp.yaml", "requirements.lock"):
    if (Path(__file__).parents[2] / name).exists():
        raise LookupError(name)
"""


@pytest.mark.parametrize("part", [JUDGE, VERIFIER, WORLD])
def test_no_code_of_a_study_finds_the_plan_or_the_lock(lamp: Path, part: Part) -> None:
    """An amendment of a comment there is no other code, so it must change nothing that a judge says."""
    (lamp / "plans").mkdir(exist_ok=True)
    for name in ("plans/lamp.yaml", "requirements.lock"):
        (lamp / name).write_text("# checked\n", encoding="utf-8")
    put_world(lamp, world=LAMP + READS, judge=LAMP_JUDGE + READS)
    try:
        open_lamp(lamp, part)
        with pytest.raises(HarnessError, match=r"LookupError: plans/lamp\.yaml"):
            load_world(lamp, "lamp")
    finally:
        put_world(lamp)
        shutil.rmtree(lamp / "plans")
        (lamp / "requirements.lock").unlink()


def closure(root: str) -> Closure:
    return cast(Closure, SimpleNamespace(trees=(tree(root),), files=(), lock=None))


def tree(root: str) -> object:
    return SimpleNamespace(path="worlds/lamp", entries=(SimpleNamespace(path="world.py", digest=root),))


@pytest.mark.parametrize(("phase", "due"), [("after_smoke", []), ("after_first_episode", [0]), ("after_analysis", [0])])
def test_a_changed_world_rules_beside_todays_once_there_could_be_outcomes(phase: str, due: list[int]) -> None:
    """It is no ruling code by its class; that is no reason to believe that it changed no verdict."""
    pins = tuple(SimpleNamespace(number=place, closure=closure(root)) for place, root in enumerate("ab"))
    sealed = SimpleNamespace(pins=pins, latest=pins[-1], amendments=(SimpleNamespace(phase=phase),))
    assert [one.number for one in pins_of_other_code(cast(SealedPlan, sealed))] == due
