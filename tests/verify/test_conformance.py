"""The contract of worlds and verifiers: ours keep it, and whatever breaks one clause is told just that clause."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sealkit.verify.conformance import examine_verifier, examine_world, of_verifier, of_world
from sealkit.verify.conformance.finding import Finding
from tests.studies import ROOT, call
from tests.world.makeshift import JUDGE, SPEC, WORLD, edited, put_world

LOADS = "loads"
SPEC_CLAUSE = "has a SPEC.md that names every family"
SCENARIOS = "scenarios keep the format, one a (family, seed)"
ELSEWHERE = "the same in another process under another PYTHONHASHSEED"
ODD = "takes any action without raising, inside its footprint"
MUTATES = "never changes the state it is given"
RESTORES = "comes back to a snapshot whole"
WITNESSED = "witness accepts every trial episode"
REPLAYS = "gives the same bytes for the same actions"
JUDGED = "the judge is pure and gives its declared measures"
PROBED = "keeps its own probes"


def broken(findings: tuple[Finding, ...]) -> dict[str, str]:
    return {finding.clause: finding.detail for finding in findings if not finding.kept}


@pytest.mark.parametrize(
    ("study", "name"),
    [
        (ROOT, "house"),
        (ROOT, "underwriting"),
        pytest.param(ROOT, "underwriting_b", marks=pytest.mark.slow),  # 252 episodes; its own tests see most of them
        (ROOT / "docs" / "example", "ferry"),
        (ROOT / "tests" / "toy", "toy"),
    ],
)
def test_our_worlds_keep_every_clause(study: Path, name: str) -> None:
    findings = examine_world(study, name)
    assert not broken(findings)
    assert [finding.clause for finding in findings] == [
        LOADS, SPEC_CLAUSE, SCENARIOS, ELSEWHERE, ODD, MUTATES, RESTORES, WITNESSED, REPLAYS, JUDGED,
        *([PROBED] if name == "underwriting_b" else []),
    ]  # fmt: skip


def test_the_example_of_the_documentation_is_a_whole_world_in_sixty_lines() -> None:
    folder = ROOT / "docs" / "example" / "worlds" / "ferry"
    source = (folder / "world.py").read_text(encoding="utf-8").splitlines()
    assert len(source) <= 60
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == {
        "SPEC.md", "__init__.py", "world.py", "judge.py", "agents.py",
    }  # fmt: skip


@pytest.fixture
def here_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not ask other processes, where that is not what is tested: it takes most of the time."""
    monkeypatch.setattr(of_world, "_same_elsewhere", lambda root, name: "not asked")


ACT = "    lamp = state["
LIT = 'return {**state, "lamp": {"lit": True, "oil": lamp["oil"] - 1}}, (text("You light it."),)'
CASES: dict[str, tuple[dict[str, str], str, str]] = {
    "no SPEC.md": ({"spec": ""}, SPEC_CLAUSE, "worlds/lamp/SPEC.md does not name calm, windy"),
    "SPEC.md without a family": ({"spec": SPEC.replace("windy", "")}, SPEC_CLAUSE, "does not name windy"),
    "does not load": ({"world": "1 / 0"}, LOADS, "worlds/lamp/world.py: loading it raised ZeroDivisionError"),
    "a scenario without state": (
        {"world": edited(WORLD, 'genesis={"lamp"', 'genesis={} if seed == 2 else {"lamp"')},
        SCENARIOS, "without material state",
    ),
    "a scenario that is never the same": (
        {"world": edited(WORLD, "FAMILIES =", "import itertools\nCOUNT = itertools.count()\nFAMILIES =").replace(
            "draws.choice((", "str(next(COUNT)) + draws.choice((")},
        SCENARIOS, "asked twice, the same seed gave two scenarios",
    ),
    "raises on an odd argument": (
        {"world": edited(WORLD, ACT, '    action.args.get("x", "").lower()\n' + ACT)}, ODD, "raised AttributeError",
    ),
    "raises on an action that it does not know": (
        {"world": edited(WORLD, ACT, '    {"light": 1, "look": 2, "done": 3}[action.name]\n' + ACT)},
        ODD, "raised KeyError: 'no such action'",
    ),
    "leaves its footprint on an odd argument": (
        {"world": edited(WORLD, ACT, '    if action.args.get("x") == -1:\n'
                                     '        return {**state, "room": {"name": "cellar"}}, ()\n' + ACT)},
        ODD, "changed /room/name, outside its footprint",
    ),
    "changes the state that it is given": (
        {"world": edited(WORLD, LIT, 'lamp["oil"], oil = 0, lamp["oil"]\n'
                                     + "        " + LIT.replace('lamp["oil"] - 1', "oil - 1"))},
        MUTATES, "light changed the state that it was given",
    ),
    "a judge that gives a float": ({"judge": edited(JUDGE, "int(any", "0.5 * (any")}, JUDGED, "a float (0.5)"),
    "a judge that raises": ({"judge": edited(JUDGE, "    return", "    1 / 0\n    return")}, JUDGED, "ZeroDivisionError"),
    "a judge that gives another measure": (
        {"judge": edited(JUDGE, '{"lit"', '{"light"')}, JUDGED, "gave ['light'], declares ['lit']",
    ),
    "a judge that remembers": (
        {"judge": edited(JUDGE, "MEASURES", "SEEN = []\nMEASURES").replace(
            "    return", "    SEEN.append(1)\n    return").replace("int(any", "len(SEEN) + int(any")},
        JUDGED, "judged twice, it gave two answers",
    ),
    "no judge": ({"judge": ""}, JUDGED, "worlds/lamp/judge.py: loading it raised ModuleNotFoundError"),
}  # fmt: skip


@pytest.mark.usefixtures("here_alone")
@pytest.mark.parametrize("case", CASES)
def test_a_world_that_breaks_one_clause_is_told_that_clause(case: str, tmp_path: Path) -> None:
    files, clause, says = CASES[case]
    put_world(tmp_path, **files)
    found = broken(examine_world(tmp_path, "lamp"))
    assert list(found) == [clause]
    assert says in found[clause]


@pytest.mark.usefixtures("here_alone")
def test_a_world_unbroken_is_told_nothing(tmp_path: Path) -> None:
    put_world(tmp_path)
    assert not broken(examine_world(tmp_path, "lamp"))


PROBES = """
from sealkit.world.sdk import Probed

def probe(build, text):
    scenario, episode = build("calm", 5, "lighter")
    assert (scenario.family, scenario.seed, episode.slot["arm"]) == ("calm", 5, "lighter")
    yield Probed("colour", "seed", "" if scenario.seed == 5 else "another")
    yield Probed("colour", "words", "" if text("SPEC.md") else "none")
    yield Probed("end", "final", "" if episode.closing.ended == "final" else "never")
"""


@pytest.mark.usefixtures("here_alone")
@pytest.mark.parametrize(
    ("probes", "kept", "says"),
    [
        (PROBES, True, "colour 2 of 2, end 1 of 1"),
        (PROBES.replace("seed == 5 else", "seed == 6 else"), False, "1 of 3 probes failed: seed: another"),
        ("def probe(build, text):\n    return []\n", False, "0 of 0 probes failed"),
        ("probes = []\n", False, "worlds/lamp/probes.py: the module has no function probe"),
        ("1 / 0\n", False, "worlds/lamp/probes.py: loading it raised ZeroDivisionError"),
        (PROBES.replace("SPEC.md", "none.md"), False, "there is no such text"),
        (PROBES.replace("assert", "assert not"), False, "raised AssertionError"),
    ],
    ids=["kept", "one fails", "none", "no function", "does not load", "no such text", "raises"],
)  # fmt: skip
def test_a_world_may_have_probes_of_its_own(probes: str, kept: bool, says: str, tmp_path: Path) -> None:
    put_world(tmp_path)
    (tmp_path / "worlds" / "lamp" / "probes.py").write_text(probes, encoding="utf-8")
    findings = examine_world(tmp_path, "lamp")
    assert (findings[-1].clause, findings[-1].kept) == (PROBED, kept)
    assert says in findings[-1].detail
    assert set(broken(findings)) <= {PROBED}


@pytest.mark.parametrize(
    "edit",
    [
        ("draws.choice((", '" ".join({"red", "blue", "green", "grey", "white", "black", "pink"}) + draws.choice(('),
        ("draws.choice((", "str(hash('lamp')) + draws.choice(("),
        ("FAMILIES =", "import random\nNOISE = str(random.random())\nFAMILIES ="),
    ],
    ids=["order of a set", "hash", "chance"],
)
def test_a_world_that_depends_on_its_process_is_told_so(edit: tuple[str, str], tmp_path: Path) -> None:
    world = edited(WORLD, *edit).replace("Light the lamp", '" + NOISE + "' if "NOISE" in edit[1] else "Light the lamp")
    put_world(tmp_path, world=world)
    found = broken(examine_world(tmp_path, "lamp"))
    assert list(found) == [ELSEWHERE]
    assert "look for sets, hash(), random, time and object ids" in found[ELSEWHERE]


@pytest.mark.usefixtures("here_alone")
def test_a_world_that_draws_by_chance_while_it_acts_is_told_so(tmp_path: Path) -> None:
    put_world(tmp_path, world=edited(WORLD, "FAMILIES =", "import random\nFAMILIES =").replace(
        'text("Nothing happens.")', "text(str(random.random()))"))  # fmt: skip
    assert list(broken(examine_world(tmp_path, "lamp"))) == [RESTORES, REPLAYS]


# --- stateful worlds -------------------------------------------------------------------------------

STATEFUL = {
    "leaves something behind after a restore": (
        "        self.here = json.loads(snapshot)",
        '        self.here = {**json.loads(snapshot), "tank": self.here["tank"]}',
        RESTORES, "after a restore the material state is another than at the snapshot",
    ),
    "keeps something outside its snapshot": (
        '            self.here["tank"]["level"] += 2\n',
        '            self.filled = getattr(self, "filled", 0) + 1\n            self.here["tank"]["level"] += self.filled\n',
        RESTORES, "something lives outside the snapshot",
    ),
    "does not do what a contract says": (
        "        self.here = json.loads(json.dumps(apply(self.here, effect)))", "        pass",
        WITNESSED, "environment at",
    ),
    "remembers episodes": (
        "    return Greenhouse(scenario.genesis)",
        "    house = Greenhouse(scenario.genesis)\n    COUNT.append(1)\n"
        '    house.here["sky"]["now"] += str(len(COUNT))\n    return house',
        REPLAYS, "run again with the same actions it left other bytes",
    ),
}  # fmt: skip


@pytest.mark.usefixtures("here_alone")
@pytest.mark.parametrize("case", STATEFUL)
def test_a_simulator_that_breaks_a_clause_is_told_so(case: str, tmp_path: Path) -> None:
    old, new, clause, says = STATEFUL[case]
    study = Path(shutil.copytree(ROOT / "tests" / "toy", tmp_path / "toy"))
    source = study / "worlds" / "toy" / "world.py"
    text = edited(source.read_text(encoding="utf-8"), old, new).replace("BUDGET = 14", "BUDGET = 14\nCOUNT = []")
    source.write_text(text.replace('FAMILIES = ("calm", "plain", "storm")', 'FAMILIES = ("calm", "plain")'), "utf-8")
    found = broken(examine_world(study, "toy"))
    assert clause in found and says in found[clause]
    assert case == "remembers episodes" or list(found) == [clause]


# --- verifiers -----------------------------------------------------------------------------------

V_SPEC, V_IMPORTS = "has a SPEC.md", "imports sealkit.wire and pure modules only"
V_FAITHFUL, V_TWICE = "rejects no faithful episode", "answers the same twice"
V_RUINED, V_BOUND = "answers ruined bytes with a rejection", "binds an episode to its slot, pin and scenario"


@pytest.mark.parametrize("name", ["witness", "replay"])
def test_our_verifiers_keep_every_clause(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_verifier, "load_policies", lambda folder: {})  # tests/verifiers/test_policies.py has them
    findings = examine_verifier(ROOT, name)
    assert not broken(findings)
    assert [finding.clause for finding in findings] == [
        LOADS, V_SPEC, V_IMPORTS, V_FAITHFUL, V_TWICE, V_RUINED, V_BOUND,
    ]  # fmt: skip
    assert "396 accepted, 0 abstained" in [finding.detail for finding in findings]


def test_the_verifier_of_records_keeps_every_clause_on_records() -> None:
    findings = examine_verifier(ROOT, "recorded")
    assert not broken(findings)
    details = [finding.detail for finding in findings]
    assert "6 trial records" in details and "6 accepted, 0 abstained" in details


HONEST = """\
from sealkit.wire.canon import decode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import MalformedError
from sealkit.wire.episode import Episode
from sealkit.wire.verdict import Abstained, Accepted, Reason, Rejected


def check(trusted, episode):
    try:
        found = decode_record(episode, Episode)
    except MalformedError as error:
        return Rejected(reasons=(Reason("evidence", "episode", str(error), "an episode"),))
    if (found.pin, found.slot, found.scenario) != (trusted.pin, trusted.slot, digest_bytes(trusted.scenario)):
        return Rejected(reasons=(Reason("evidence", "episode", "another identity", "this one"),))
    return Accepted()
"""

V_CASES: dict[str, tuple[str, str, str]] = {
    "no check": (edited(HONEST, "def check", "def chek"), LOADS, "the module has no function check"),
    "imports files": ("import os\n" + HONEST, V_IMPORTS, "check.py imports os: a verifier sees bytes"),
    "imports worlds": ("from sealkit.world import text\n" + HONEST, V_IMPORTS, "check.py imports sealkit.world"),
    "rejects everything": (
        edited(HONEST, "return Accepted()", 'return Rejected(reasons=(Reason("boundary", "a", "b", "c"),))'),
        V_FAITHFUL, "boundary",
    ),
    "changes its mind": (
        edited(HONEST, "def check", "SEEN = []\n\n\ndef check").replace(
            "return Accepted()", 'SEEN.append(1)\n    return Accepted() if len(SEEN) % 2 else Abstained(missing="mood")'),
        V_TWICE, "asked twice, it gave two verdicts",
    ),
    "raises on what is no episode": (edited(HONEST, "except MalformedError", "except KeyError"), V_RUINED, "raised"),
    "accepts ruins": (
        edited(HONEST, 'return Rejected(reasons=(Reason("evidence", "episode", str(error), "an episode"),))', "return Accepted()"),
        V_RUINED, "was answered with Accepted",
    ),
    "ignores the pin": (edited(HONEST, "(found.pin, found", "(trusted.pin, found"), V_BOUND, "another pin was answered"),
    "ignores the slot": (edited(HONEST, "found.slot", "trusted.slot"), V_BOUND, "another slot was answered"),
    "ignores the scenario": (
        edited(HONEST, "digest_bytes(trusted.scenario)", "found.scenario"), V_BOUND, "another scenario was answered",
    ),
}  # fmt: skip


def put_verifier(study: Path, text: str) -> None:
    put_world(study)
    folder = study / "verifiers" / "own"
    folder.mkdir(parents=True)
    (folder / "SPEC.md").write_text("Identity only.\n", encoding="utf-8")
    (folder / "__init__.py").touch()
    (folder / "check.py").write_text(text, encoding="utf-8")


def test_a_verifier_unbroken_is_told_nothing(tmp_path: Path) -> None:
    put_verifier(tmp_path, HONEST)
    assert not broken(examine_verifier(tmp_path, "own"))


@pytest.mark.parametrize("case", V_CASES)
def test_a_verifier_that_breaks_one_clause_is_told_that_clause(case: str, tmp_path: Path) -> None:
    text, clause, says = V_CASES[case]
    put_verifier(tmp_path, text)
    found = broken(examine_verifier(tmp_path, "own"))
    assert list(found) == [clause]
    assert says in found[clause]


def test_a_verifier_without_a_specification_is_told_so(tmp_path: Path) -> None:
    put_verifier(tmp_path, HONEST)
    (tmp_path / "verifiers" / "own" / "SPEC.md").unlink()
    assert list(broken(examine_verifier(tmp_path, "own"))) == [V_SPEC]


def test_a_verifier_without_a_world_to_be_tried_on_is_told_so(tmp_path: Path) -> None:
    put_verifier(tmp_path, HONEST)
    shutil.rmtree(tmp_path / "worlds")
    assert "nothing to try it on" in broken(examine_verifier(tmp_path, "own"))[LOADS]


# --- the command -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("here_alone")
def test_the_command_prints_each_clause_and_fails_where_one_is_broken(tmp_path: Path) -> None:
    put_world(tmp_path)
    kept = call("conformance", "worlds/lamp", cwd=tmp_path)
    assert kept.code == 0 and kept.out.count("\n  yes ") == 10
    put_world(tmp_path, spec="# Nothing\n")
    refused = call("conformance", "worlds/lamp/", cwd=tmp_path)
    assert refused.code == 1 and refused.out.count("\n  NO ") == 1


def test_the_command_names_what_is_neither(tmp_path: Path) -> None:
    refused = call("conformance", "tests", cwd=tmp_path)
    assert refused.code == 2 and "name worlds/NAME or verifiers/NAME" in refused.err


def test_a_world_that_nobody_can_act_in_keeps_nothing(tmp_path: Path) -> None:
    put_world(tmp_path, agents="")
    assert "no scripted agents: nothing to try the world with" in broken(examine_world(tmp_path, "lamp"))[LOADS]
