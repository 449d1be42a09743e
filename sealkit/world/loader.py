"""Loads study content by path: worlds, their judges and scripted agents, verifiers.

A study's folders are content, sealed by tree digest, never installed: each is loaded as a package under a
private name, so relative imports inside it work and nothing called `worlds` or `verifiers` can be imported
by accident. A study folder that lacks a world or verifier falls back to nothing: `sealkit init` copies the
reference ones into it.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeAlias, cast

import msgspec

from sealkit.files import read_if_there
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.errors import HarnessError, MalformedError, SealkitError, UsageError
from sealkit.wire.records import Json
from sealkit.wire.scenario import check_scenario
from sealkit.wire.verdict import Verdict
from sealkit.world.draws import Draws
from sealkit.world.places import raised
from sealkit.world.sdk import Judge, Outline, Probe, Reader, Scripted, Session
from sealkit.world.sessions import DetachedSession, PureSession, copied

Check = Callable[..., Verdict]  # check(trusted, episode), and for `replay` also rerun=
View = Callable[[bytes], bytes]  # what a policy sees of an episode
_MOST_TEXT = 64 * 1024
Where: TypeAlias = Callable[..., str]  # where the plan has a key, such as `plan.where`: file, line, column and path


class LoadedWorld(msgspec.Struct, frozen=True):
    """One world as its folder has it now."""

    name: str
    families: tuple[str, ...]
    module: ModuleType
    agents: Mapping[str, Scripted]
    words: ModuleType | None = None  # `words.py`: how the world speaks with a model

    @property
    def trial_params(self) -> Mapping[str, Json]:
        """The parameters under which the world is tried: its `TRIAL_PARAMS`, or none."""
        params: Mapping[str, Json] = getattr(self.module, "TRIAL_PARAMS", {})
        return params

    def session(self, scenario: Scenario) -> Session:
        """A fresh simulator at the scenario's genesis."""
        act = getattr(self.module, "act", None)
        if act is not None:
            return PureSession(copied(scenario.genesis), act)
        own = decode_record(encode_record(scenario), Scenario)
        return DetachedSession(self.module.session(own, scenario_draws(scenario).split("session")))

    @property
    def folder(self) -> Path:
        """The folder that the world was loaded from."""
        return Path(str(self.module.__file__)).parent


class Policy(msgspec.Struct, frozen=True):
    """One way to judge evidence: `rule(trusted, view(episode))` and `check(trusted, episode)` are one verdict."""

    check: Check
    view: View
    rule: Check


def load_world(root: Path, name: str) -> LoadedWorld:
    """The world in `root/worlds/name`; `UsageError` if there is none, `HarnessError` if it does not load."""
    package = load_package(root / "worlds" / name, f"sealkit_study.worlds.{name}", remedy="see `sealkit init --help`")
    module = _submodule(package, "world")
    families = tuple(cast(Sequence[str], _declared(module, "FAMILIES")))
    if not callable(getattr(module, "scenario", None)):
        raise HarnessError("the world has no function scenario", where=f"worlds/{name}/world.py")
    if not callable(getattr(module, "act", None)) and not callable(getattr(module, "session", None)):
        raise HarnessError("the world has neither act nor session", where=f"worlds/{name}/world.py")
    agents: Mapping[str, Scripted] = {}
    if (root / "worlds" / name / "agents.py").is_file():
        agents = cast(Mapping[str, Scripted], _declared(_submodule(package, "agents"), "AGENTS"))
    words = _submodule(package, "words") if (root / "worlds" / name / "words.py").is_file() else None
    return LoadedWorld(name=name, families=families, module=module, agents=agents, words=words)


def load_probes(world: LoadedWorld) -> Probe:
    """The function `probe` of the world's `probes.py`."""
    probe = getattr(_submodule(sys.modules[str(world.module.__package__)], "probes"), "probe", None)
    if not callable(probe):
        raise HarnessError("the module has no function probe", where=f"worlds/{world.name}/probes.py")
    return cast(Probe, probe)


def load_judge(root: Path, path: str, *, beside: LoadedWorld | None = None) -> tuple[Judge, tuple[str, ...]]:
    """The judge at `path`, such as `worlds/house/judge`, and the names of the measures that it gives.

    It is loaded fresh, but for a judge in the folder of the world that was loaded last, `beside`: that one shares the
    world's package, so that what both are made of is compiled once.
    """
    folder, _, name = path.rpartition("/")
    if beside is not None and folder == f"worlds/{beside.name}":
        package = sys.modules[str(beside.module.__package__)]
    else:
        private = "sealkit_study." + folder.replace("/", ".")
        package = load_package(root / folder, private, remedy="see the plan's `judge`")
    module = _submodule(package, name)
    judge = getattr(module, "judge", None)
    if not callable(judge):
        raise HarnessError("the module has no function judge", where=f"{path}.py")
    return cast(Judge, judge), tuple(cast(Sequence[str], _declared(module, "MEASURES")))


def load_readers(root: Path, path: str) -> Mapping[str, Reader]:
    """The readers that the judge's module declares in `READINGS`, by name; none if it declares none.

    `READINGS` maps a name to a function that makes the reader. It is handed a function that gives the text of a
    file of the judge's folder, such as `prompts/diagnoser.md`, so that no judge opens files.
    """
    folder, _, name = path.rpartition("/")
    package = load_package(root / folder, "sealkit_study." + folder.replace("/", "."), remedy="see the plan's `judge`")
    makers = cast(Mapping[str, Callable[..., Reader]], getattr(_submodule(package, name), "READINGS", {}))
    try:
        return {reading: make(lambda file: read_text(root / folder, file)) for reading, make in makers.items()}
    except SealkitError:
        raise
    except Exception as error:  # a study's own code may raise anything
        raise HarnessError(f"making a reader raised {type(error).__name__}: {error}", where=f"{path}.py") from error


def read_text(folder: Path, file: str) -> str:
    """The text of a file in `folder`, without blanks at its ends; `HarnessError` if there is none."""
    place = folder / file
    data = read_if_there(place, inside=folder, limit=_MOST_TEXT)
    if data is None:
        raise HarnessError("there is no such text", where=str(place), remedy="see docs/writing-a-world.md")
    try:
        return data.decode().strip()
    except UnicodeDecodeError as error:
        raise HarnessError("the text is not UTF-8", where=str(place)) from error


def load_verifier(folder: Path) -> Check:
    """The function `check` of the verifier in `folder`."""
    package = load_package(folder, f"sealkit_study.verifiers.{folder.name}", remedy="see the plan's `verifiers`")
    check = getattr(_submodule(package, "check"), "check", None)
    if not callable(check):
        raise HarnessError("the module has no function check", where=f"verifiers/{folder.name}/check.py")
    return cast(Check, check)


def load_policies(folder: Path) -> Mapping[str, Policy]:
    """The evidence policies of the verifier in `folder`, by name: what `policies.py` declares, none without one."""
    if not (folder / "policies.py").is_file():
        return {}
    package = load_package(folder, f"sealkit_study.policies.{folder.name}", remedy="see the plan's `verifiers`")
    declared = cast(Mapping[str, tuple[Check, View, Check]], _declared(_submodule(package, "policies"), "POLICIES"))
    return {name: Policy(check=check, view=view, rule=rule) for name, (check, view, rule) in declared.items()}


def asks_for_rerun(check: Check) -> bool:
    """Whether a verifier is to be handed `rerun`, which lets the world act again."""
    return "rerun" in inspect.signature(check).parameters


def load_package(folder: Path, name: str, *, remedy: str = "") -> ModuleType:
    """The package in `folder` under the private name `name`, fresh from its files."""
    folder = Path(os.path.abspath(folder))  # Python remembers folders by their spelling, wherever it stood then
    entry = folder / "__init__.py"
    if not entry.is_file():
        raise UsageError("there is no such folder with an __init__.py", where=str(folder), remedy=remedy)
    importlib.invalidate_caches()
    for known in [module for module in sys.modules if module == name or module.startswith(name + ".")]:
        del sys.modules[known]
    spec = importlib.util.spec_from_file_location(name, entry, submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None:
        raise HarnessError("Python cannot load it", where=str(entry))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _from_source():
            spec.loader.exec_module(module)
    except Exception as error:  # a study's own code may raise anything
        raise HarnessError(f"loading it {raised(error)}", where=str(entry)) from error
    return module


@contextmanager
def _from_source() -> Iterator[None]:
    """What is imported inside is compiled from its source: a cache may be of other bytes than those that are sealed."""
    before = sys.pycache_prefix, sys.dont_write_bytecode
    sys.pycache_prefix, sys.dont_write_bytecode = f"{os.devnull}/none", True
    try:
        yield
    finally:
        sys.pycache_prefix, sys.dont_write_bytecode = before


def _submodule(package: ModuleType, name: str) -> ModuleType:
    try:
        with _from_source():
            return import_module(f"{package.__name__}.{name}")
    except Exception as error:  # a study's own code may raise anything
        where = f"{package.__name__.removeprefix('sealkit_study.').replace('.', '/')}/{name}.py"
        raise HarnessError(f"loading it {raised(error)}", where=where) from error


def _declared(module: ModuleType, name: str) -> object:
    try:
        return getattr(module, name)
    except AttributeError:
        where = f"{module.__name__.removeprefix('sealkit_study.').replace('.', '/')}.py"
        raise HarnessError(f"the module declares no {name}", where=where) from None


def spell_path(*path: str) -> str:
    """Where a key of a plan stands, for want of the plan.

    >>> spell_path("world", "params", "oil")
    '$.world.params.oil'
    """
    return ".".join(("$", *path))


def make_scenario(
    world: LoadedWorld, family: str, seed: int, params: Mapping[str, Json], *, where: Where = spell_path
) -> Scenario:
    """The scenario that the world makes of (family, seed), checked; `params` are the plan's `world.params`.

    `UsageError` at the plan's key, as `where` spells it, if the family or the parameters are to blame: what is the
    world's own fault is `HarnessError`.
    """
    if family not in world.families:
        what = f"the world has no family {family!r}; it has {', '.join(world.families)}"
        raise UsageError(what, where=where("factors", "family"), remedy="name one of these")
    signature = inspect.signature(world.module.scenario)
    try:
        signature.bind(family, seed, None, **params)
    except TypeError as error:
        unknown = [name for name in params if name not in signature.parameters][:1]
        what = f"the plan's world.params do not fit: {error}"
        raise UsageError(what, where=where("world", "params", *unknown), remedy=_spec_of(world)) from error
    try:
        return _made(world, family, seed, params)
    except HarnessError as error:
        blamed = _blamed(world, family, seed, params)
        if blamed is None:
            raise
        what = f"with this the world makes no scenario of family {family}, seed {seed}: {error.what}"
        raise UsageError(what, where=where("world", "params", *blamed), remedy=_spec_of(world)) from error


def _spec_of(world: LoadedWorld) -> str:
    return f"worlds/{world.name}/SPEC.md says what it takes"


def _blamed(world: LoadedWorld, family: str, seed: int, params: Mapping[str, Json]) -> tuple[str, ...] | None:
    """The parameter that keeps the world from making this scenario; () if it takes several, None if it is the world.

    The world is asked: one that makes the scenario under its trial parameters is not to blame.
    """
    known = world.trial_params
    if not params or not _makes(world, family, seed, known):
        return None
    for name in params:
        others = {other: value for other, value in params.items() if other != name}
        if _makes(world, family, seed, others | {name: known[name]} if name in known else others):
            return (name,)
    return ()


def _makes(world: LoadedWorld, family: str, seed: int, params: Mapping[str, Json]) -> bool:
    try:
        _made(world, family, seed, params)
    except HarnessError:
        return False
    return True


def _made(world: LoadedWorld, family: str, seed: int, params: Mapping[str, Json]) -> Scenario:
    where = f"worlds/{world.name}: scenario({family!r}, {seed})"
    draws = Draws("scenario", world.name, family, seed)
    try:
        outline = world.module.scenario(family, seed, draws, **params)
    except Exception as error:  # a study's own code may raise anything
        raise HarnessError(raised(error), where=where) from error
    if not isinstance(outline, Outline):
        raise HarnessError(f"found {type(outline).__name__}, due an Outline", where=where)
    return _checked(world, family, seed, params, outline, where)


def _checked(
    world: LoadedWorld, family: str, seed: int, params: Mapping[str, Json], outline: Outline, where: str
) -> Scenario:
    scenario = Scenario(
        world=world.name,
        family=family,
        seed=seed,
        params=dict(params),
        genesis=outline.genesis,
        briefing=outline.briefing,
        contracts=outline.contracts,
        snapshots=outline.snapshots,
        restores=outline.restores,
        footprints=dict(outline.footprints),
        finals=outline.finals,
        max_acts=outline.max_acts,
    )
    try:
        line = encode_record(scenario)
        scenario = decode_record(line, Scenario)
        check_scenario(scenario)
    except MalformedError as error:
        raise HarnessError(str(error), where=where, remedy="mend the world's scenario function") from error
    return scenario


def scenario_draws(scenario: Scenario) -> Draws:
    """The stream of draws that belongs to a scenario, for whatever runs in it."""
    return Draws("run", scenario.world, scenario.family, scenario.seed)
