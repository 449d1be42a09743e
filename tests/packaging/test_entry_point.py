"""`sealkit` starts fast, and says the version that the wheel carries."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys

import sealkit

PROBE = """
import json, sys
before = set(sys.modules)
from sealkit.__main__ import main
sys.argv = ["sealkit", "--version"]
main()
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_version_imports_nothing_but_the_entry_point() -> None:
    output = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True).stdout
    version, modules = output.splitlines()
    assert version == f"sealkit {sealkit.__version__}"
    assert json.loads(modules) == ["sealkit", "sealkit.__main__"]


def test_the_entry_point_is_that_function() -> None:
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="sealkit")
    assert entry.value == "sealkit.__main__:main"
    assert importlib.metadata.version("sealkit") == sealkit.__version__


def test_python_m_sealkit_is_the_same_program() -> None:
    output = subprocess.run([sys.executable, "-m", "sealkit", "--version"], capture_output=True, text=True, check=True)
    assert output.stdout == f"sealkit {sealkit.__version__}\n"


def test_importing_wire_stays_cheap() -> None:
    code = "import sys, sealkit.wire; print(sorted({'cel', 'scipy', 'numpy', 'click', 'pydantic'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
