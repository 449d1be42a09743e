"""What tests of more than one part share: no test reads or writes the user's own state, and studies that are made once."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import modelled
from tests.loopback import Loopback
from tests.studies import PLAN, SMALL, call, make_study, ok


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Heads that this machine remembers are those of this session, and none of its user's."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        yield home / "state"


def _once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """The folder that `make` fills, made by whichever process of the session comes first."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "studies" / name
    folder.parent.mkdir(exist_ok=True)
    with open(shared / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            making = folder.with_name(f"{name}.making")
            shutil.rmtree(making, ignore_errors=True)
            make(making / "study")
            making.rename(folder)
    return folder / "study"


@pytest.fixture(scope="session")
def sealed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small study, sealed, never run. Copy it before you change it."""

    def make(folder: Path) -> None:
        ok(call("seal", PLAN, cwd=make_study(folder, SMALL)))

    return _once(tmp_path_factory, "sealed", make)


@pytest.fixture(scope="session")
def run_once(tmp_path_factory: pytest.TempPathFactory, sealed_once: Path) -> Path:
    """The small study after `run` and `analyse`. Copy it before you change it."""

    def make(folder: Path) -> None:
        shutil.copytree(sealed_once, folder)
        ok(call("run", PLAN, "--jobs", "1", cwd=folder))
        ok(call("analyse", PLAN, cwd=folder))

    return _once(tmp_path_factory, "run", make)


@pytest.fixture(scope="session")
def published_once(tmp_path_factory: pytest.TempPathFactory, run_once: Path) -> Path:
    """The small study after `publish`. Copy it before you change it."""

    def make(folder: Path) -> None:
        shutil.copytree(run_once, folder)
        ok(call("publish", PLAN, cwd=folder))

    return _once(tmp_path_factory, "published", make)


@pytest.fixture(scope="session")
def dry_run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `sealkit demo` leaves: the whole dry run, sealed, run and analysed. Copy it before you change it."""

    def make(folder: Path) -> None:
        ok(call("demo", "--into", folder, cwd=folder.parents[1]))

    return _once(tmp_path_factory, "dry-run", make)


@pytest.fixture
def sealed(sealed_once: Path, tmp_path: Path) -> Path:
    """A copy of the small sealed study."""
    return Path(shutil.copytree(sealed_once, tmp_path / "study"))


@pytest.fixture
def study(run_once: Path, tmp_path: Path) -> Path:
    """A copy of the small study after its run and analysis."""
    return Path(shutil.copytree(run_once, tmp_path / "study", symlinks=True))


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that remembers nothing yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture(scope="session")
def modelled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small study whose arms ask a model, sealed, never run. Copy it before you change it."""

    def make(folder: Path) -> None:
        ok(call("seal", PLAN, cwd=modelled.make_study(folder)))

    return _once(tmp_path_factory, "modelled", make)


@pytest.fixture(scope="session")
def called_once(tmp_path_factory: pytest.TempPathFactory, modelled_once: Path) -> Path:
    """The same after its run and analysis. Copy it before you change it."""

    def make(folder: Path) -> None:
        shutil.copytree(modelled_once, folder)
        with Loopback(modelled.policy) as server:
            ok(call("run", PLAN, "--endpoint", server.url, "--concurrency", "4", cwd=folder))
        ok(call("analyse", PLAN, cwd=folder))

    return _once(tmp_path_factory, "called", make)
