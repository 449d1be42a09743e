"""Nothing committed names a machine's path or a registry: a clone must mean the same everywhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Put together from parts, so that this file does not hold what it looks for.
FOLDERS = "|".join(("ro" + "ot", "wo" + "rk", "ho" + "me", "o" + "pt", "Us" + "ers"))
HOSTS = ("py" + "pi.org", "python" + "hosted", "registry." + "npmjs", "deb." + "debian")
# A path starts where a word does: `/notes/x` inside `/a/notes/x` is no path of a machine.
MACHINE = re.compile(
    rf"(?<![\w.~)>}}\]*-])/(?:{FOLDERS})/|\bfile:/{{2,}}\w|" + "|".join(re.escape(host) for host in HOSTS)
)


def committed() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def machine_names(text: str) -> list[str]:
    return [match.group() for match in MACHINE.finditer(text)]


@pytest.mark.parametrize(
    "text",
    [
        f"see /{'wo' + 'rk'}/main",
        f"'/{'ro' + 'ot'}/.cache'",
        f"--index-url https://{'py' + 'pi.org'}/simple",
        f"x @ file:///{'o' + 'pt'}/wheels/x.whl",
    ],
)
def test_the_scan_finds_paths_and_hosts(text: str) -> None:
    assert machine_names(text)


def test_the_scan_leaves_relative_paths_alone() -> None:
    assert not machine_names("docs/work/notes.md and ./home/x and https://example.org/work/")


def test_no_committed_file_names_a_machine_or_a_registry() -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in committed()
        if (names := machine_names(path.read_bytes().decode("utf-8", "replace")))
    }
    assert not found
