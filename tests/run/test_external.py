"""A program of one's own as a world: what it is shown, what of its answer is kept, and every way in which it can fail."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sealkit.agents.models.budget import Spent
from sealkit.plan.actors import ExternalWorld
from sealkit.plan.assignment import assignment_line
from sealkit.plan.load import open_plan
from sealkit.run.external import AttemptError, open_command, stated_use
from sealkit.wire.canon import decode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import HarnessError, UsageError
from sealkit.wire.recorded import Recorded, measured
from sealkit.wire.records import Level
from sealkit.wire.verdict import Accepted
from sealkit.world.loader import load_verifier
from tests.studies import ROOT

PLAN = open_plan(ROOT / "docs/example/ab-prompts/plans/ab-prompts.yaml")
SLOT: dict[str, Level] = {"arm": "terse", "family": "sums", "seed": 3}
TRUSTED = Trusted(pin=digest_bytes(b"pin"), judge="", slot=SLOT, scenario=assignment_line(PLAN.spec, SLOT))
ANSWER: dict[str, Any] = {
    "transcript": [{"role": "user", "content": "1 + 1?"}],
    "measures": {"correct": 1},
    "usage": {"calls": 1, "input_tokens": 3, "output_tokens": 1},
    "models": {"solver": "toy-adder-1"},
    "ended": "final",
    "why": "",
}
Play = Callable[[str], bytes]


def play(
    script: str, study: Path, *, seconds: int = 20, environment: tuple[str, ...] = (), here: Any = os.environ
) -> bytes:
    (study / "script.py").write_text(script)
    run = (sys.executable, "script.py")
    world = ExternalWorld(
        kind="external", run=run, trees=("script.py",), seconds=seconds, environment=environment or None
    )
    return open_command(world, study, here).play(TRUSTED)


def answering(**changes: Any) -> str:
    return f"print({json.dumps(json.dumps(ANSWER | changes))})"


def refusal(script: str, study: Path, **options: Any) -> str:
    with pytest.raises(HarnessError) as caught:
        play(script, study, **options)
    assert "\x1b" not in str(caught.value)
    return str(caught.value)


def test_an_answer_becomes_a_record_of_its_slot(tmp_path: Path) -> None:
    line = play(answering(), tmp_path)
    record = decode_record(line, Recorded)
    assert (record.pin, record.slot, record.assignment) == (TRUSTED.pin, SLOT, digest_bytes(TRUSTED.scenario))
    assert measured(record) == {"correct": 1, "calls": 1, "input_tokens": 3, "output_tokens": 1}
    assert load_verifier(ROOT / "verifiers/recorded")(TRUSTED, line) == Accepted()
    assert line == play(answering(), tmp_path)


def test_what_a_record_says_was_used_is_shown_while_the_run_goes_on(tmp_path: Path) -> None:
    line = play(answering(usage={"calls": 2, "input_tokens": 3, "output_tokens": None}), tmp_path)
    assert stated_use(line) == Spent(calls=2, tokens=3)


def test_it_is_shown_its_slot_and_its_folder_and_nothing_of_this_machine(tmp_path: Path) -> None:
    script = f"""
import json, os, sys
line = sys.stdin.readline()
seen = dict(line=line, rest=sys.stdin.read(), cwd=os.getcwd(), environment=dict(os.environ))
answer = {ANSWER!r}
answer["transcript"] = [seen]
print(json.dumps(answer))
"""
    here = {"PATH": os.environ["PATH"], "HOME": "/root", "OTHER_KEY": "other-secret", "MODE": "fast"}
    seen = decode_record(play(script, tmp_path, environment=("MODE",), here=here), Recorded).transcript[0]
    assert seen["line"] == TRUSTED.scenario.decode() + "\n" and seen["rest"] == ""
    assert seen["cwd"] == str(tmp_path.resolve())
    environment = seen["environment"]
    assert isinstance(environment, dict)
    assert environment["MODE"] == "fast" and environment["TZ"] == "UTC"
    assert environment.pop("SEALKIT_ATTEMPT")
    assert environment.keys() <= {"PATH", "LANG", "LC_ALL", "TZ", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "MODE"}


def test_an_answer_is_whole_when_the_program_has_ended_whatever_it_left_running(tmp_path: Path) -> None:
    left = "import subprocess; subprocess.Popen(['sleep', '60'])"
    assert play(f"{answering()}; {left}", tmp_path) == play(answering(), tmp_path)
    assert "ended with status 3" in refusal(f"{left}; raise SystemExit(3)", tmp_path)
    escaped = "import subprocess; subprocess.Popen(['sleep', '5'], env={}, start_new_session=True)"
    assert play(f"{answering()}; {escaped}", tmp_path) == play(answering(), tmp_path)


def test_a_variable_that_is_not_set_is_named_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="passes THE_KEY on to its command"):
        play("raise SystemExit", tmp_path, environment=("THE_KEY",), here={})


def test_a_key_never_comes_into_a_record_or_a_message(tmp_path: Path) -> None:
    here = {"PATH": os.environ["PATH"], "THE_KEY": "sk-12345678"}
    leaking = f"import os; print({json.dumps(ANSWER)!r}.replace('1 + 1?', os.environ['THE_KEY']))"
    said = refusal(leaking, tmp_path, environment=("THE_KEY",), here=here)
    assert "the answer holds the value of THE_KEY" in said and "sk-1234" not in said
    dying = "import os, sys; sys.exit('bad key ' + os.environ['THE_KEY'])"
    said = refusal(dying, tmp_path, environment=("THE_KEY",), here=here)
    assert said.endswith("ended with status 1; its last words: bad key $THE_KEY")


def test_one_line_of_a_key_of_several_lines_is_not_told_either(tmp_path: Path) -> None:
    here = {"PATH": os.environ["PATH"], "THE_KEY": "first-part-of-it\nsecond-part-of-it\n"}
    dying = "import os, sys; sys.exit('bad key ' + os.environ['THE_KEY'])"
    said = refusal(dying, tmp_path, environment=("THE_KEY",), here=here)
    assert said.endswith("its last words: $THE_KEY")
    leaking = f"import os; print({json.dumps(ANSWER)!r}.replace('1 + 1?', os.environ['THE_KEY'].split()[0]))"
    assert "the answer holds what looks like a key, or the value of a variable" in refusal(
        leaking, tmp_path, environment=("THE_KEY",), here=here
    )


@pytest.mark.parametrize(
    "spelled",
    [r"\u0074op-secret\/word", r"top-secret\/word", "top-secret/word", "sk-abcdefghijklmnopqrstuvwx"],
)
def test_a_key_is_found_however_json_spells_it(tmp_path: Path, spelled: str) -> None:
    here = {"PATH": os.environ["PATH"], "THE_KEY": "top-secret/word"}
    text = json.dumps(ANSWER).replace("1 + 1?", spelled.replace("\\\\", "\\"))
    said = refusal(f"print({text!r})", tmp_path, environment=("THE_KEY",), here=here)
    assert "the answer holds" in said and spelled not in said


def test_last_words_with_a_key_that_was_not_passed_on_are_not_repeated(tmp_path: Path) -> None:
    said = refusal("import sys; sys.exit('bad sk-' + 'abcdefghijklmnopqrstuvwx')", tmp_path)
    assert said.endswith("its last words hold what looks like a key")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("import sys; sys.exit(3)", "ended with status 3"),
        ("1 / 0", "script.py line 1: ZeroDivisionError: division by zero"),
        ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9"),
        ("import sys; print('\\x1b[31mred', file=sys.stderr); sys.exit(1)", "last words: \\x1b[31mred"),
        ("", "no answer that a record can hold"),
        ("print('hello')", "char 0); what it wrote begins 'hello\\n', and nothing but its answer may stand on its standard output"),
        ("print('[]')", "no answer that a record can hold: Expected `object`"),
        ("print('{}{}')", "Extra data"),
        ("print('[' * 100_000)", "no answer that a record can hold"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", "no answer that a record can hold"),
        ("print('{\"why\": \"\", \"why\": \"\"}')", "the key 'why' stands twice"),
        ("print('{\"a\": 1.0}')", "value/a: a float (1.0)"),
        ("print('{\"a\": NaN}')", "value/a: a float (nan)"),
        ("print('{\"a\": 9007199254740993}')", "beyond 2^53-1"),
        ("print('{\"a\": \"\\\\ud800\"}')", "a lone surrogate"),
        ("print('x' * 5_000_000)", "wrote more than 4194304 bytes"),
        (answering(score=1), "unknown field `score`"),
        (answering(measures={}), "measures.correct: found nothing, due a value: the plan declares it"),
        (answering(measures={"correct": 2}), "measures.correct: found 2, due 0 or 1"),
        (answering(measures={"correct": True}), "measures.correct: found True, due an integer"),
        (answering(measures={"correct": 1, "style": 1}), "measures.style: found a measure, due none of that name"),
        (answering(models={"solver": "toy-adder-2"}), "models.solver: found 'toy-adder-2', due the model toy-adder-1"),
        (answering(models={}), "models.solver: found nothing, due the model toy-adder-1"),
        (answering(models={"solver": "toy-adder-1", "judge": "x"}), "the arm uses no such role"),
        (answering(usage={"calls": 1, "input_tokens": 3, "output_tokens": 41}), "usage.output_tokens: found 41, due at most 40"),
        (answering(usage={"calls": -1, "input_tokens": 3, "output_tokens": 1}), "Expected `int` >= 0"),
        (answering(usage={"calls": 0, "input_tokens": 3, "output_tokens": 1}), "usage.calls: found 0, due at least 1"),
        (answering(ended="success"), "ended: found 'success', due one of"),
        (answering(transcript=[]), "transcript: found nothing"),
    ],
)  # fmt: skip
def test_whatever_else_comes_is_a_failure_of_the_harness(script: str, says: str, tmp_path: Path) -> None:
    assert says in refusal(script, tmp_path)


@pytest.mark.parametrize("ending", ["provider_error", "harness_error"])
def test_a_failure_that_the_program_reports_keeps_its_word(ending: str, tmp_path: Path) -> None:
    with pytest.raises(AttemptError, match="rate limited") as caught:
        play(answering(ended=ending, why="rate limited", measures={}), tmp_path)
    assert caught.value.ending == ending


@pytest.mark.parametrize("ending", ["final", "provider_error"])
def test_a_reason_is_kept_in_one_short_line(ending: str, tmp_path: Path) -> None:
    script = answering(ended=ending, why="\x1b[31m" + "a\n" * 600_000)
    if ending == "final":
        why = decode_record(play(script, tmp_path), Recorded).closing.why
    else:
        with pytest.raises(AttemptError) as caught:
            play(script, tmp_path)
        why = str(caught.value)
    assert len(why) == 1000 and why.startswith("\\x1b[31ma\\na") and why.endswith("…")


def test_what_else_a_program_says_is_cut_short_in_messages(tmp_path: Path) -> None:
    text = "x" * 100_000
    for changes in ({"ended": text}, {"models": {"solver": text}}, {"models": {text: "m"}}, {"measures": {text: 1}}):
        assert len(refusal(answering(**changes), tmp_path)) < 1500


def test_an_episode_that_the_agent_failed_is_kept_as_it_ended(tmp_path: Path) -> None:
    line = play(answering(ended="refusal", why="it would rather not", measures={"correct": 0}), tmp_path)
    assert decode_record(line, Recorded).closing.ended == "refusal"


def test_a_hang_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    script = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
open("child", "w").write(str(child.pid))
time.sleep(60)
"""
    began = time.monotonic()
    assert "has not ended after 4 s, the time that the plan gives it" in refusal(script, tmp_path, seconds=4)
    assert time.monotonic() - began < 30
    status = Path(f"/proc/{(tmp_path / 'child').read_text()}/stat")
    ends = time.monotonic() + 10  # who was killed may still be on its way out
    while is_alive(status) and time.monotonic() < ends:
        pass
    assert not is_alive(status)


def is_alive(status: Path) -> bool:
    try:
        return status.read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_program_that_reads_nothing_may_still_answer(tmp_path: Path) -> None:
    script = "import os; os.close(0)\n" + answering()
    assert decode_record(play(script, tmp_path), Recorded).measures == {"correct": 1}


def test_words_without_end_do_not_block_it(tmp_path: Path) -> None:
    script = "import sys\nsys.stderr.write('x' * 1_000_000)\n" + answering()
    assert decode_record(play(script, tmp_path), Recorded).measures == {"correct": 1}


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    world = ExternalWorld(kind="external", run=("./none",), trees=("none",), seconds=1)
    with pytest.raises(HarnessError, match=r"\./none: cannot be started: No such file"):
        open_command(world, tmp_path, os.environ).play(TRUSTED)
