"""Arms of the study's own, and arms that are programs."""

from __future__ import annotations

import os
import re
import select
import sys
from pathlib import Path

import pytest

from sealkit.agents.arms import pipe, start_player
from sealkit.agents.turns import Ask, Message, Reply
from sealkit.plan.actors import CommandArm, OwnArm
from sealkit.run.play import answered, nobody, play
from sealkit.wire.canon import decode_record, digest_json, encode_record
from sealkit.wire.episode import Episode, Fact, Notice, Text, Trusted
from sealkit.wire.errors import HarnessError, UsageError
from sealkit.wire.records import Json
from sealkit.world.loader import make_scenario
from sealkit.world.sdk import View
from tests.world.makeshift import lamp

CALL = digest_json("a body")
ENDINGS = {"agent_stopped": "failure"}


def played(study: Path, arm: OwnArm | CommandArm, replies: tuple[str, ...] = ()) -> tuple[Episode, list[Ask]]:
    world = lamp(study)
    scenario = make_scenario(world, "windy", 0, {})
    player, reads_truth = start_player(arm, world, scenario, study)
    assert not reads_truth
    slot = {"arm": "own", "family": "windy", "seed": 0}
    trusted = Trusted(pin=digest_json("pin"), judge=digest_json("judge"), slot=slot, scenario=encode_record(scenario))
    waiting, asked = iter(replies), list[Ask]()

    def answer(question: Ask) -> Reply:
        asked.append(question)
        return Reply(text=next(waiting), status="complete", call=CALL)

    playing = play(world, player, trusted, ENDINGS, reads_truth=False)
    return decode_record(answered(playing, answer if replies else nobody), Episode), asked


# --- a package -------------------------------------------------------------------------------------

WRITER = """\
from sealkit.agents.turns import Action, Ask, Message, Move

from .words import first


class Player:
    def __init__(self, scene, options, draws):
        self.seen = [scene.briefing, sorted(scene.__struct_fields__), options, draws.below(1000)]

    def turn(self, view):
        reply = yield Ask(role="writer", messages=(Message(role="user", content="what now?"),), schema=None)
        return Move(action=Action(name=first(reply.text), args={}), calls=(reply.call,), memory={"seen": self.seen})


def make(scene, options, draws):
    return Player(scene, options, draws)
"""


def own(study: Path, text: str = WRITER, models: tuple[str, ...] = ("writer",)) -> OwnArm:
    folder = study / "arms" / "mine"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(text)
    (folder / "words.py").write_text("def first(text):\n    return text.split()[0]\n")
    return OwnArm(role="treatment", arm="arms/mine", models=models, options={"depth": 2})


def test_a_package_of_the_study_plays_and_knows_what_an_agent_may_know(tmp_path: Path) -> None:
    episode, asked = played(tmp_path, own(tmp_path), ("light it", "look", "done now"))
    assert [act.action.name for act in episode.acts] == ["begin", "light", "look", "done"]
    assert asked[0] == Ask(role="writer", messages=(Message(role="user", content="what now?"),), schema=None)
    briefing, fields, options, draw = episode.acts[1].memory["seen"]  # type: ignore[misc]
    assert fields == ["briefing", "finals", "max_acts", "params", "world"] and options == {"depth": 2}
    assert isinstance(briefing, str) and isinstance(draw, int)
    again, _ = played(
        tmp_path, OwnArm(role="control", arm="arms/mine", models=("writer",), options={"depth": 2}), ("done",)
    )
    assert again.acts[1].memory == episode.acts[1].memory  # the same draws


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("def make", "def build", "the package has no function make"),
        ("return Player(", "return (", "due a player with `turn`"),
        ("    return Player(scene", "    1 / 0\n    return Player(scene", "make raised ZeroDivisionError"),
        ('role="writer"', 'role="agent"', "asked the model 'agent'; the plan lets it ask writer"),
        ("reply = yield Ask(", "reply = yield dict(", "a turn yielded dict, due an Ask"),
        ("return Move(action", "return dict(action", "`turn` returned dict, due a Move or a Fault"),
        ("reply = yield Ask(", "reply = dict(", "raised AttributeError"),
        ("first(reply.text)", "'noop'", "the word is sealkit's own"),
        ("from .words import first", "from .gone import first", "loading it raised ModuleNotFoundError"),
    ],
)
def test_what_breaks_in_it_is_the_harness(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert old in WRITER
    with pytest.raises(HarnessError) as broken:
        played(tmp_path, own(tmp_path, WRITER.replace(old, new)), ("look",))
    assert says in str(broken.value)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="arms/none"):
        played(tmp_path, OwnArm(role="control", arm="arms/none", models=(), options={}))


def test_the_arm_of_the_documentation_plays(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "writing-an-arm.md").read_text(encoding="utf-8")
    asking, alone, whole = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    episode, asked = played(tmp_path / "asking", own(tmp_path / "asking", asking, models=("agent",)), ("light", "done"))
    assert [act.action.name for act in episode.acts] == ["begin", "light", "done"]
    assert asked[1].messages[0].content.endswith("You light it.\nWhat next? One word.")
    looks = ["begin", "look", "look", "look", "done"]
    for study, arm in (
        ("alone", own(tmp_path / "alone", alone, models=())),
        ("asking", program(tmp_path / "asking", whole)),
    ):
        episode, asked = played(tmp_path / study, arm)
        assert ([act.action.name for act in episode.acts], asked) == (looks, []) and episode.closing.ended == "final"
    fields = [*View.__struct_fields__, *(name for kind in (Text, Fact, Notice) for name in kind.__struct_fields__)]
    assert [name for name in fields if f"{name}`" not in text] == [], "what a view holds"


# --- a program -------------------------------------------------------------------------------------

PROGRAM = """\
import json, sys
def say(**line):
    print(json.dumps(line), flush=True)
start = json.loads(sys.stdin.readline())["start"]
for line in sys.stdin:
    view = json.loads(line)["view"]
    say(ask={"role": "writer", "messages": [{"role": "user", "content": view["return"] or start["briefing"]}]})
    reply = json.loads(sys.stdin.readline())["reply"]
    if reply["text"] == "give up":
        say(stop="I give up")
    else:
        say(act={"name": reply["text"], "args": {}}, memory={"left": view["acts_left"], "act": view["act"]})
"""


def program(study: Path, text: str = PROGRAM) -> CommandArm:
    (study / "agent.py").write_text(text)
    return CommandArm(role="treatment", run=(sys.executable, "agent.py"), models=("writer",), trees=("agent.py",))


def test_a_program_asks_acts_and_remembers(tmp_path: Path) -> None:
    episode, asked = played(tmp_path, program(tmp_path), ("light", "look", "done"))
    assert [(act.action.name, act.calls, act.memory) for act in episode.acts[1:]] == [
        ("light", (CALL,), {"act": 0, "left": 4}),
        ("look", (CALL,), {"act": 1, "left": 3}),
        ("done", (CALL,), {"act": 2, "left": 2}),
    ]
    assert asked[1].messages[0].content == "You light it."


def test_a_program_may_stop(tmp_path: Path) -> None:
    episode, _ = played(tmp_path, program(tmp_path), ("light", "give up"))
    assert (episode.closing.ended, episode.closing.why) == ("agent_stopped", "I give up")


LINES: list[tuple[str, str]] = [
    ("not JSON", "no line of an arm: JSON is malformed: invalid character (byte 4); it begins 'not JSON'"),
    ("x" * 99, f"; it begins '{'x' * 60}'…"),
    ("AKIA" + "ABCD" * 4, "; it begins what looks like a key"),
    ("{}", "wrote a line that is not one of ask, act and stop"),
    ('{"act": {"name": "look", "args": {}}, "stop": "x"}', "not one of ask, act and stop"),
    ('{"do": 1}', "wrote what is no line of an arm"),
    ('{"act": {"name": 3, "args": {}}}', "wrote what is no line of an arm"),
    ('{"act": {"name": "noop", "args": {}}}', "the word is sealkit's own"),
    ('{"act": {"name": "look", "args": {"x": 0.5}}}', "a float (0.5)"),
    ('{"act": {"name": "look", "args": {}}, "memory": {"x": 1e400}}', "no line of an arm"),
    ('{"ask": {"role": "judge", "messages": []}}', "the plan lets it ask writer"),
]


@pytest.mark.parametrize(("line", "says"), LINES, ids=[line for line, _ in LINES])
def test_a_line_that_is_none_of_an_arm_is_the_harness(line: str, says: str, tmp_path: Path) -> None:
    text = f"import sys\nprint({line!r}, flush=True)\nsys.stdin.read()\n"
    with pytest.raises(HarnessError) as broken:
        played(tmp_path, program(tmp_path, text), ("look",))
    assert says in str(broken.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise SystemExit(3)", "it ended in the middle of an episode (status 3)"),
        ("raise SystemExit('out of luck')", "(status 1); its last words: out of luck"),
        ("def f():\n    return 1 / 0\nf()", "; its last words: agent.py line 2: ZeroDivisionError: division by zero"),
        ("raise SystemExit('AKIA' + 'ABCD' * 4)", "(status 1); its last words hold what looks like a key"),
        ("import os, sys; os.write(2, b'x' * 300_000); sys.exit(3)", "(status 3); its last words: xxx"),
        ("import sys; sys.stderr.write('thinking'); sys.stderr.flush(); sys.stdin.read()", "0.5 seconds; its last words: thinking"),
        ("import os; os.kill(os.getpid(), 9)", "it ended in the middle of an episode (status -9)"),
        ("import sys; sys.stdin.read()", "did not write a line for 0.5 seconds"),
        ("print('x' * 3_000_000)", "wrote a line of more than 1048576 bytes"),
        ("print('{}', end='', flush=True); import sys; sys.stdin.read()", "did not write a line"),
        ("import json\nwhile True: print(json.dumps({'ask': {'role': 'writer', 'messages': []}}), flush=True)", "asked more than 32 times"),
    ],
)  # fmt: skip
def test_a_program_that_dies_hangs_or_floods_is_the_harness(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe, "SECONDS_PER_LINE", 0.5)
    with pytest.raises(HarnessError) as broken:
        played(tmp_path, program(tmp_path, text), ("look",) * 40)
    assert says in str(broken.value)


def test_who_waits_for_a_program_that_keeps_its_lines_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pipe, "SECONDS_PER_LINE", 0.3)
    monkeypatch.setattr(pipe, "QUIET_SECONDS", 0.1)
    arm = program(tmp_path, "import sys\nprint('a line that is not flushed')\nsys.stdin.read()")
    for _ in range(2):
        with pytest.raises(HarnessError):
            played(tmp_path, arm, ("look",))
    told = capsys.readouterr().err
    assert told.count("agent.py` did not write a line for 0.1 s; it has 0.3 s; does it flush what it writes?") == 1


def test_a_program_that_is_not_there_is_the_harness(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="no-such-program: it does not start"):
        played(tmp_path, CommandArm(role="control", run=("no-such-program",), models=(), trees=()))


BREAKS: list[tuple[str, str]] = [
    ("def make(scene, options, draws):\n    return options['x']\n", "make raised KeyError: 'x' (arms/mine/__init__.py, line 2)"),
    ("from .words import first\n\nclass Player:\n    def turn(self, view):\n        yield first(None)\n\n"
     "def make(scene, options, draws):\n    return Player()\n", "(arms/mine/words.py, line 2)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says"), BREAKS)
def test_a_package_that_breaks_is_told_where(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as broken:
        played(tmp_path, own(tmp_path, text), ("look",))
    assert says in str(broken.value) and str(tmp_path) not in str(broken.value)


FAMILY = (
    """\
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
away = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
open("pids", "w").write(f"{os.getpid()} {child.pid} {away.pid}")
"""
    + PROGRAM
)


@pytest.mark.parametrize("replies", [("done",), ("noop",), ("give up",)])
def test_the_program_and_what_it_started_are_killed_however_the_episode_ends(
    replies: tuple[str, ...], tmp_path: Path
) -> None:
    arm = program(tmp_path, FAMILY)
    if replies == ("noop",):
        with pytest.raises(HarnessError):
            played(tmp_path, arm, replies)
    else:
        played(tmp_path, arm, replies)
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        assert is_gone(pid)


def is_gone(pid: int) -> bool:
    """Whether the process is over within seconds: one that is killed takes its time."""
    try:
        with open(os.pidfd_open(pid)) as process:
            return bool(select.select([process], [], [], 10)[0])
    except ProcessLookupError:
        return True


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_episode_given_up_in_the_middle_kills_the_program(tmp_path: Path) -> None:
    world = lamp(tmp_path)
    scenario = make_scenario(world, "windy", 0, {})
    player, _ = start_player(program(tmp_path, FAMILY), world, scenario, tmp_path)
    trusted = Trusted(pin=CALL, judge=CALL, slot={"arm": "own"}, scenario=encode_record(scenario))
    playing = play(world, player, trusted, ENDINGS, reads_truth=False)
    assert isinstance(next(playing), Ask)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert all(map(is_running, pids))
    playing.close()
    assert all(map(is_gone, pids))


def test_no_key_reaches_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEALKIT_API_KEY", "secret")
    monkeypatch.setenv("ANY_OTHER", "secret")
    text = "import os\n" + PROGRAM.replace('"left": view["acts_left"]', '"env": sorted(os.environ)')
    episode, _ = played(tmp_path, program(tmp_path, text), ("done",))
    env: Json = episode.acts[1].memory["env"]
    assert isinstance(env, list) and not {"SEALKIT_API_KEY", "ANY_OTHER"} & set(map(str, env)) and "PATH" in env
