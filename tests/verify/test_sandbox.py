"""A stranger's world in the child process: what it tries, and that nothing comes of it.

The trap is a world whose families each try one thing while they make a scenario; whatever comes back of it is in
the scenario's briefing.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import sealkit
from sealkit.verify import sandbox as sandbox_module
from sealkit.verify.sandbox import BrokenOffError, Sandbox
from sealkit.wire.canon import decode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Action, Trusted
from sealkit.wire.errors import HarnessError
from sealkit.wire.trace import bare
from sealkit.wire.verdict import Errored, Reason, Rejected
from tests.verify.trap import TRAP, make_source
from tests.world.makeshift import JUDGE, WORLD, edited, put_world

SLOT: dict[str, str | int] = {"arm": "lighter", "family": "calm", "seed": 0}


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("trap") / "source", world=TRAP)


def isolates(source: Path) -> bool:
    """Whether this system isolates at all; where it does not, the refusal is all there is to test."""
    with Sandbox(source, isolation="limits", sealed_by="1.0") as sandbox:
        return sandbox.level == "kernel"


@pytest.fixture(scope="module")
def children(trap: Path) -> Iterator[Callable[[], Sandbox]]:
    """The trap in a child that is used until it is broken."""
    with ExitStack() as stack:
        open_one: list[Sandbox] = []

        def working() -> Sandbox:
            if not open_one or open_one[-1]._broken:
                open_one.append(stack.enter_context(Sandbox(trap, isolation="kernel", sealed_by="1.0")))
                open_one[-1].load("lamp", "worlds/lamp/judge")
            return open_one[-1]

        yield working


@pytest.fixture
def caught(trap: Path, children: Callable[[], Sandbox]) -> Sandbox:
    """The trap in a child, isolated by the kernel."""
    try:
        return children()
    except HarnessError as refused:
        assert "this system isolates no process from your files and network" in str(refused)
        assert not isolates(trap)
        pytest.skip("this system isolates no process; that kernel isolation is refused was tested")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An honest source; tests put other judges and worlds into it."""
    return make_source(tmp_path_factory.mktemp("honest") / "source")


def spring(sandbox: Sandbox, name: str, argument: str = "") -> str:
    """What came of a trap."""
    return decode_record(sandbox.scenario(name, 0, {"oil": argument}), Scenario).briefing


def still_works(sandbox: Sandbox) -> bool:
    return spring(sandbox, "calm") == "nothing came of it"


# --- files, processes, network ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "read", "list", "write", "append", "make_folder", "rename", "remove", "truncate", "change_mode", "change_owner",
        "change_times", "mark", "read_system", "read_proc", "list_root", "write_temporary", "write_source", "link",
        "remove_source", "load_library",
    ],
)  # fmt: skip
def test_no_file_of_yours_is_read_or_changed(name: str, caught: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("yours", encoding="utf-8")
    before = secret.stat()
    with pytest.raises(HarnessError, match=r"the sealed source failed: .*(PermissionError|OSError)"):
        spring(caught, name, str(secret))
    assert secret.read_text(encoding="utf-8") == "yours"
    after = secret.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_ino) == (before.st_mode, before.st_mtime_ns, before.st_ino)
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert not Path("/tmp/sealkit-trap").exists()
    assert still_works(caught)


@pytest.mark.parametrize("name", ["connect", "connect_out", "send"])
def test_no_network_is_reached(name: str, caught: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        with pytest.raises(HarnessError, match=r"the sealed source failed: .*PermissionError"):
            spring(caught, name, str(server.getsockname()[1]))
        with pytest.raises(BlockingIOError):
            server.accept()


def test_no_named_socket_is_reached(caught: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as that of a container service, whose users own the machine."""
    monkeypatch.chdir(tmp_path)  # the name of a socket is at most 107 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        server.listen()
        with pytest.raises(HarnessError, match="PermissionError"):
            spring(caught, "connect_unix", str(tmp_path / "s"))


@pytest.mark.parametrize("name", ["run", "execute", "fork", "kill_parent", "kill_all", "slow_parent", "more_memory"])
def test_no_process_is_started_or_touched(name: str, caught: Sandbox) -> None:
    with pytest.raises(HarnessError, match=r"the sealed source failed: .*(PermissionError|ValueError)"):
        spring(caught, name)
    assert os.getpriority(os.PRIO_PROCESS, 0) < 19
    assert still_works(caught)


def test_threads_are_its_own_affair(caught: Sandbox) -> None:
    assert spring(caught, "thread") == "a thread ran"


# --- excess --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["print", "print_errors"])
def test_what_it_prints_is_no_answer(name: str, caught: Sandbox) -> None:
    assert spring(caught, name) == "printed"
    assert still_works(caught)


def test_ten_gigabytes_are_not_to_be_had(caught: Sandbox) -> None:
    with pytest.raises(HarnessError, match=r"the sealed source failed: .*MemoryError"):
        spring(caught, "grow")
    assert still_works(caught)


def test_recursion_without_end_is_told(caught: Sandbox) -> None:
    with pytest.raises(HarnessError, match=r"the sealed source failed: .*RecursionError"):
        spring(caught, "recurse")
    assert still_works(caught)


@pytest.mark.parametrize("name", ["loop", "flood_errors"])
def test_a_loop_without_end_is_ended(name: str, caught: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_module, "ANSWER_SECONDS", 0.5)
    with pytest.raises(HarnessError, match=r"the sealed source gave no answer in 0.5 s"):
        spring(caught, name)
    monkeypatch.undo()
    with pytest.raises(HarnessError, match=r"gave no answer in 0.5 s"):  # never an answer to another question
        spring(caught, "calm")


def test_all_answers_together_have_a_bound_that_grows_with_the_work(
    caught: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer may take long, but not each of a hundred thousand."""
    monkeypatch.setattr(caught, "_waited", 119 + 10.0 * (caught._asked + 1))
    assert spring(caught, "calm") == "nothing came of it"
    monkeypatch.setattr(caught, "_waited", 119.7 + 10.0 * (caught._asked + 1))
    asked = caught._asked + 1
    with pytest.raises(BrokenOffError) as late:
        spring(caught, "loop")
    assert late.value.exit_code == 3 and str(late.value) == (
        f"the sealed source gave no answer in the time that is left: {120 + 10 * asked} s for all {asked} answers, which "
        "is 120 s and 10 s for each episode, scenario or measure asked for; nothing was ruled, and nothing "
        "counts against an agent; try it on a machine with less to do"
    )


@pytest.mark.parametrize(
    ("answer", "theirs"),
    [
        ('{"error":"no operation"}', "has no number"), ('{"protocol":2}', "is 2"), ('{"protocol":true}', "has no number"),
        ("{}", "has no number"), ('{"protocol":"1"}', "has no number"), ('{"protocol":0}', "is 0"),
    ],
)  # fmt: skip
def test_a_source_of_another_protocol_is_refused(answer: str, theirs: str, tmp_path: Path) -> None:
    child = tmp_path / "sealkit" / "verify" / "child.py"
    child.parent.mkdir(parents=True)
    for folder in (child.parent, child.parents[1]):
        (folder / "__init__.py").touch()
    child.write_text(
        f"import sys\n\n\ndef main(source):\n    for line in sys.stdin:\n        sys.stdout.write({answer!r} + chr(10))\n        sys.stdout.flush()\n"
    )
    with pytest.raises(HarnessError) as refused:
        Sandbox(tmp_path, isolation="limits", sealed_by="7.2")
    assert str(refused.value) == (
        f"this study was sealed by sealkit '7.2', whose replay protocol {theirs}; this sealkit {sealkit.__version__} speaks "
        "1; install that sealkit to run the sealed source again; without --replay its data can be checked"
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("exit", "the sealed source stopped (status 7)"), ("leave", "the sealed source stopped (status 7)"),
        ("crash", "the sealed source stopped (status -11)"), ("interrupt", "KeyboardInterrupt"),
        ("ten_megabytes", "the sealed source answered more than 4194304 bytes"),
        ("no_json", "answer of the sealed source: JSON is malformed"),
        ("a_float", "a float (0.5) where records hold integers"), ("nan", "answer of the sealed source"),
        ("a_list", "answered something else than one object"), ("null", "answered something else than one object"),
        ("many_lines", "answered something else than one object"),
        ("raw_is_no_list", "answered something else than one object"),
        ("two_answers", "said more than its answer"), ("late", "said more than its answer"),
        ("deep", "nested deeper than 64"),
    ],
)  # fmt: skip
def test_a_child_that_breaks_the_protocol_is_ended(name: str, says: str, caught: Sandbox) -> None:
    with pytest.raises(HarnessError) as broken:
        spring(caught, name)
    assert says in str(broken.value)
    with pytest.raises(HarnessError) as again:
        spring(caught, "calm")
    assert str(again.value) == str(broken.value)


def test_an_answer_without_what_was_asked_for_is_told(caught: Sandbox) -> None:
    with pytest.raises(HarnessError, match="the sealed source answered without scenario"):
        spring(caught, "nothing")


# --- judges and verifiers ----------------------------------------------------------------------------


def judged(source: Path, judge: str) -> object:
    """What the child's judge gives an episode of the lamp."""
    put_world(source, judge=judge)
    with Sandbox(source, isolation="limits", sealed_by="1.0") as sandbox:
        assert sandbox.load("lamp", "worlds/lamp/judge") == ("lit",)
        scenario = sandbox.scenario("calm", 0, {})
        trusted = Trusted(pin=digest_bytes(b"pin"), judge=digest_bytes(b"judge"), slot=SLOT, scenario=scenario)
        moves = tuple(bare(Action(name=name, args={})) for name in ("light", "done"))
        line = sandbox.rerun(trusted, moves, "final", "")
        return sandbox.judge(scenario, line)


def test_an_honest_judge_measures(source: Path) -> None:
    assert judged(source, JUDGE) == {"lit": 1}


BODY = 'return {"lit": int(any(act.action.name == "light" and act.delta for act in episode.acts))}'


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('return {"lit": 0.5}', "a float (0.5) where records hold integers"),
        ('return {"lit": float("nan")}', "a float (nan) where records hold integers"),
        ('return {"lit": {1}}', "set is no JSON value"),
        ('return {"lit": "x" * (10 << 20)}', "a line of 10485"),
        ("return None", "TypeError"),
        ("raise SystemError('judge')", "SystemError: judge"),
        ("raise ValueError('\\x1b[31m\\u202e' + 'x' * 9999)", "ValueError: \\x1b[31m\\u202e"),
    ],
)  # fmt: skip
def test_a_judge_that_breaks_is_told_and_measures_nothing(body: str, says: str, source: Path) -> None:
    with pytest.raises(HarnessError) as broken:
        judged(source, edited(JUDGE, BODY, body))
    assert says in str(broken.value) and len(str(broken.value)) < 1000
    assert str(broken.value).isprintable()


def test_an_episode_of_nearly_the_greatest_length_is_judged(source: Path) -> None:
    """It travels as it is: as text in a JSON line it would outgrow what a line may hold."""
    put_world(source, world=edited(WORLD, '"You light it."', "chr(34) * 1_300_000"))
    with Sandbox(source, isolation="limits", sealed_by="1.0") as sandbox:
        sandbox.load("lamp", "worlds/lamp/judge")
        scenario = sandbox.scenario("calm", 0, {})
        trusted = Trusted(pin=digest_bytes(b"pin"), judge=digest_bytes(b"judge"), slot=SLOT, scenario=scenario)
        line = sandbox.rerun(trusted, (bare(Action(name="light", args={})),), "budget", "")
        assert len(line) > 2_600_000
        assert sandbox.judge(scenario, line) == {"lit": 1}


def put_verifier(source: Path, text: str) -> None:
    put_world(source)
    folder = source / "verifiers" / "own"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").touch()
    (folder / "check.py").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "body",
    ["return None", "return 5", "return {'verdict': 'splendid'}", "raise ValueError('no')"],
)
def test_a_verifier_of_the_studys_own_that_breaks_has_errored(body: str, source: Path) -> None:
    put_verifier(source, f"def check(trusted, episode):\n    {body}\n")
    with Sandbox(source, isolation="limits", sealed_by="1.0") as sandbox:
        sandbox.load("lamp", "worlds/lamp/judge")
        trusted = Trusted(pin="p", judge="j", slot=SLOT, scenario=sandbox.scenario("calm", 0, {}))
        assert isinstance(sandbox.check("own", trusted, b"{}"), Errored)


def test_a_child_that_is_gone_rules_on_nothing(source: Path) -> None:
    """A child that was killed, for want of memory say, must not read as so many episodes that no verifier accepted."""
    put_verifier(source, "def check(trusted, episode):\n    import os; os._exit(3)\n")
    with Sandbox(source, isolation="limits", sealed_by="1.0") as sandbox:
        sandbox.load("lamp", "worlds/lamp/judge")
        trusted = Trusted(pin="p", judge="j", slot=SLOT, scenario=sandbox.scenario("calm", 0, {}))
        for _ in range(2):
            with pytest.raises(BrokenOffError, match="stopped"):
                sandbox.check("own", trusted, b"{}")


def test_a_verifier_of_the_studys_own_gives_its_verdict(source: Path) -> None:
    put_verifier(
        source,
        "from sealkit.wire.verdict import Reason, Rejected\n\n\ndef check(trusted, episode):\n"
        "    return Rejected(reasons=(Reason('boundary', 'acts[1]', str(trusted.slot['seed']), episode.decode()),))\n",
    )
    with Sandbox(source, isolation="limits", sealed_by="1.0") as sandbox:
        sandbox.load("lamp", "worlds/lamp/judge")
        trusted = Trusted(pin="p", judge="j", slot=SLOT, scenario=sandbox.scenario("calm", 0, {}))
        due = Rejected(reasons=(Reason("boundary", "acts[1]", "0", "{}"),))
        assert sandbox.check("own", trusted, b"{}") == due


# --- levels --------------------------------------------------------------------------------------


def test_where_nothing_isolates_kernel_isolation_is_refused(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jail = sandbox_module._jail().replace('sys.platform.startswith("linux")', "False")
    monkeypatch.setattr(sandbox_module, "_jail", lambda: jail)
    with pytest.raises(HarnessError) as refused:
        Sandbox(trap, isolation="kernel", sealed_by="1.0")
    assert str(refused.value) == (
        "this system isolates no process from your files and network; "
        "--replay=unsafe runs the study's code with limits only"
    )
    with Sandbox(trap, isolation="limits", sealed_by="1.0") as sandbox:
        assert sandbox.level == "limits"
        sandbox.load("lamp", "worlds/lamp/judge")
        assert still_works(sandbox)


@pytest.mark.parametrize("missing", ["_close_files(libc, readable)", "_close_calls(libc)"])
def test_half_an_isolation_is_none(missing: str, trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jail = edited(sandbox_module._jail(), f"{missing}", "False")
    monkeypatch.setattr(sandbox_module, "_jail", lambda: jail)
    with Sandbox(trap, isolation="limits", sealed_by="1.0") as sandbox:
        assert sandbox.level == "limits"


def test_only_the_sealed_sealkit_is_imported(source: Path) -> None:
    """Not that of a checkout which the interpreter was told of."""
    put_world(source, world=edited(WORLD, '"Light the lamp, then say done."', '__import__("sealkit").__file__'))
    with Sandbox(source, isolation="limits", sealed_by="1.0") as sandbox:
        sandbox.load("lamp", "worlds/lamp/judge")
        scenario = decode_record(sandbox.scenario("calm", 0, {}), Scenario)
    assert scenario.briefing == str(source / "sealkit" / "__init__.py")
