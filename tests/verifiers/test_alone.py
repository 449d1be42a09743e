"""Verifiers stand alone: they run in a tree that has no worlds, and import nothing but `sealkit.wire`."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lying_world import honest, lie
from tests.verifiers.loading import ROOT

NAMES = ("witness", "replay", "terminal", "event_log", "milestones", "causal", "telemetry")

RUN = """
import importlib.util, json, sys
from pathlib import Path
from sealkit.wire.episode import Trusted
root = Path(sys.argv[1])
given = json.loads((root / "given.json").read_bytes())
trusted = Trusted(**{**given["trusted"], "scenario": given["trusted"]["scenario"].encode()})
line = given["line"].encode()
for name in ("witness", "replay"):
    folder = root / "verifiers" / name
    entry, places = folder / "__init__.py", [str(folder)]
    spec = importlib.util.spec_from_file_location(name, entry, submodule_search_locations=places)
    package = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    check = importlib.import_module(name + ".check").check
    more = {"rerun": None} if name == "replay" else {}
    print(name, type(check(trusted, line, **more)).__name__)
seen = [name for name in sys.modules if name.startswith("sealkit.") and not name.startswith("sealkit.wire")]
print("others", [name for name in seen if name != "sealkit.wire"], [name for name in sys.modules if "world" in name])
"""


@pytest.mark.parametrize(("name", "verdict"), [("", "Accepted"), ("effect_an_act_late", "Rejected")])
def test_they_run_in_a_tree_without_worlds(tmp_path: Path, name: str, verdict: str) -> None:
    trusted, line = lie(name) if name else honest("storm")
    left_out = shutil.ignore_patterns("__pycache__", "world", "reference")
    for part in ("sealkit", "verifiers"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=left_out)
    given = {
        "trusted": {"pin": trusted.pin, "judge": trusted.judge, "slot": dict(trusted.slot),
                    "scenario": trusted.scenario.decode()},
        "line": line.decode(),
    }  # fmt: skip
    (tmp_path / "given.json").write_bytes(json.dumps(given).encode())
    (tmp_path / "run.py").write_text(RUN)
    done = subprocess.run(
        [sys.executable, "-B", str(tmp_path / "run.py"), str(tmp_path)],
        capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.splitlines() == [f"witness {verdict}", "replay Abstained", "others [] []"], done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_they_import_the_wire_and_the_standard_library_only(name: str) -> None:
    for path in sorted((ROOT / "verifiers" / name).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [str(node.module)]
            else:
                continue
            for module in modules:
                top = module.split(".")[0]
                assert module.startswith("sealkit.wire") or top in sys.stdlib_module_names, f"{path.name}: {module}"
