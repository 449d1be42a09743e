"""Who acts, where, and with which model: the sections `world`, `models`, `factors` and `readings`."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from sealkit.plan.base import Levels, Name, Parameters, Pick, Positive, RelativePath, Text, Word
from sealkit.plan.forms import ExactForm, TextForm, Whole
from sealkit.plan.parts import ByKey, ByKind, Limits, Part
from sealkit.wire.records import Level

Run = Annotated[tuple[Text, ...], Limits(1)]
Trees = Annotated[tuple[RelativePath, ...], Limits(0, "the path")]
Variable = Annotated[str, TextForm(r"[A-Za-z_][A-Za-z0-9_]{0,63}", "the name of an environment variable")]
Roles = Annotated[tuple[Word, ...], Limits(0, "the role")]

# --- the world


class ReferenceWorld(Part):
    """A world that sealkit runs: the folder `worlds/NAME` of the study, with parameters of the author's choice."""

    kind: Literal["reference"]
    name: Name
    params: Parameters


class ExternalWorld(Part):
    """A command that takes one slot and gives one record; `trees` are the files and folders that it depends on.

    `run` is null where nothing is to be run: the records come from logs (`sealkit import`). An attempt may take
    `seconds`. The command sees no variable of the environment but a few of sealkit's own and those named here.
    """

    kind: Literal["external"]
    run: Run | None
    trees: Annotated[Trees, Limits(1, "the path")]
    seconds: Annotated[int, Whole(1, 86_400)] | None = None
    environment: Annotated[tuple[Variable, ...], Limits(1, "the variable")] | None = None

    def check(self) -> Iterator[tuple[str, str, str]]:
        """A command has its time; without one there is nothing to time or to show variables to."""
        if self.run is not None and self.seconds is None:
            yield "", "the key seconds is missing", "say how long one attempt may take"
        if self.run is None and (self.seconds is not None or self.environment):
            yield "run", "nothing is run, so it needs neither seconds nor environment", "drop them, or name the command"
        path = inside_study(self.run[0]) if self.run is not None else None
        if path is not None and not any(path == tree or path.startswith(f"{tree}/") for tree in self.trees):
            yield "run", f"the command {path} is in none of the trees", "add it, so that it is sealed"


def inside_study(command: str) -> str | None:
    """The path in the study of a command that is named by such a path; None for one that the system has.

    >>> inside_study("./ask.py"), inside_study("bin/ask"), inside_study("python3"), inside_study("/usr/bin/env")
    ('ask.py', 'bin/ask', None, None)
    """
    return command.removeprefix("./") if "/" in command and not command.startswith("/") else None


World: TypeAlias = Annotated[ReferenceWorld | ExternalWorld, ByKind()]

# --- models


# So large that no model comes near, so small that a record can hold the cost of a request, and the sum of a hundred:
# 2^32 tokens in and as many out, at a cent each, are 86 million dollars.
MOST_TOKENS: Final = 2**32
MOST_PRICE: Final = 10_000_000_000
_Rate = Annotated[int, Whole(0, MOST_PRICE)]


class Price(Part):
    """What a million tokens cost."""

    input_microusd: _Rate
    output_microusd: _Rate


class Model(Part):
    """One language model and its settings, each asserted from every reply. `price_per_million_tokens` may be null.

    `fingerprint` is a server's `system_fingerprint`, for those who pin it: without it, replies may have any or none.
    """

    id: Text
    temperature: Annotated[Decimal, ExactForm(0, 2)]
    max_output_tokens: Annotated[int, Whole(1, MOST_TOKENS)]
    reasoning: Literal["off", "low", "medium", "high"]
    price_per_million_tokens: Price | None
    fingerprint: Text | None = None


class ModelByFactor(Part):
    """A role that another model plays at each level of a factor."""

    factor: Word
    levels: Annotated[Mapping[Name, Model], Limits(1)]


Role: TypeAlias = Annotated[Model | ModelByFactor, ByKey("a model", {"factor": ModelByFactor, "": Model})]


def models_of(role: Model | ModelByFactor) -> Iterator[tuple[tuple[str, ...], Model]]:
    """Every model that may play a role, with its place below the role in the plan."""
    if isinstance(role, Model):
        yield (), role
    else:
        yield from ((("levels", level), model) for level, model in role.levels.items())


# --- arms


class _Arm(Part):
    role: Literal["control", "treatment"]


class ScriptedArm(_Arm, kw_only=True):
    """A scripted agent of the world's `agents.py`."""

    scripted: Name


class NotesArm(_Arm, kw_only=True):
    """A model with a notes field that it rewrites each turn; `observer` watches and is never shown to it."""

    scaffold: Literal["notes"]
    model: Word
    notes_chars: Positive
    observer: Literal["belief_log"] | None = None


class BeliefStoreArm(_Arm, kw_only=True):
    """A model that keeps and sees a store of beliefs and cites them; `enforce` blocks acts on stale ones."""

    scaffold: Literal["belief_store"]
    model: Word
    plan_chars: Positive
    enforce: Literal["revalidation"] | None = None


class ToolsArm(_Arm, kw_only=True):
    """A model that is given the world's actions as tools, and calls one a turn; it keeps nothing of its own."""

    scaffold: Literal["tools"]
    model: Word


class OwnArm(_Arm, kw_only=True):
    """An arm of the study's own: the folder `arms/NAME`, with its options."""

    arm: Annotated[str, TextForm(r"arms/[A-Za-z0-9_-]+", "a folder such as arms/NAME")]
    models: Roles
    options: Parameters


class CommandArm(_Arm, kw_only=True):
    """A program that speaks JSON lines; `trees` are the files and folders that it depends on."""

    run: Run
    models: Roles
    trees: Trees


class ExternalArm(_Arm, kw_only=True):
    """What the command of an external world is told of its arm: `options`, and the roles of the models it may use."""

    models: Roles
    options: Parameters


Scaffold: TypeAlias = Annotated[NotesArm | BeliefStoreArm | ToolsArm, ByKind("scaffold")]
Arm: TypeAlias = Annotated[
    ScriptedArm | NotesArm | BeliefStoreArm | ToolsArm | OwnArm | CommandArm | ExternalArm,
    ByKey(
        "an arm",
        {"scripted": ScriptedArm, "scaffold": Scaffold, "arm": OwnArm, "run": CommandArm, "options": ExternalArm},
    ),
]


def roles_of(
    arm: ScriptedArm | NotesArm | BeliefStoreArm | ToolsArm | OwnArm | CommandArm | ExternalArm,
) -> tuple[str, ...]:
    """The model roles that an arm asks."""
    if isinstance(arm, NotesArm | BeliefStoreArm | ToolsArm):
        return (arm.model,)
    return () if isinstance(arm, ScriptedArm) else arm.models


# --- factors


class Factors(Part):
    """What slots are made of: every combination of arm, family, seed and any further factors.

    This is also their order. `further` stands for any other keys, each with a list of levels; they follow by name.
    """

    rest: ClassVar[str] = "further"

    arm: Annotated[Mapping[Name, Arm], Limits(1)]
    family: Levels
    seed: Levels
    further: Mapping[Word, Levels] = {}

    def check(self) -> Iterator[tuple[str, str, str]]:
        """Seeds are whole numbers from 0 on."""
        for seed in self.seed:
            if not isinstance(seed, int) or seed < 0:
                yield "seed", f"the seed {seed} is no whole number from 0 on", "write seeds as 0..9 or [3, 5]"

    def levels(self) -> Mapping[str, tuple[Level, ...]]:
        """Every factor with its levels, in plan order."""
        further = dict(sorted(self.further.items()))
        return {"arm": tuple(self.arm), "family": self.family, "seed": self.seed, **further}


class ReadingLevel(Part):
    """One way to take a reading: by which model role (null: by rules alone), in which arms."""

    model: Word | None
    arms: Pick


class Reading(Part):
    """A factor of the analysis, not of the run: several readings `of` the same episode."""

    of: Word
    levels: Annotated[Mapping[Name, ReadingLevel], Limits(1)]
