"""Under what terms outputs are published: what a plan must declare for that, and what it lacks.

Terms are words that name a licence and say where the thing comes from: `Apache-2.0, the weights from …`. The licence is
an SPDX identifier (https://spdx.org/licenses), one of those below, or `LicenseRef-NAME` for terms that have none.

    model_outputs    for all models, or by role where roles ask different ones; `none` if every arm is scripted
    humans           `none …` if nobody took part, else the terms
    data             of an external world, what its trees hold: `none …`, or the terms

What is declared is not checked: nobody here can know whether a licence holds, covers outputs, or was anybody's to give.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sealkit.plan.actors import ExternalWorld, Model, ModelByFactor, ScriptedArm
from sealkit.plan.schema import Spec

LICENCES: Final = frozenset((
    "0BSD", "AFL-3.0", "AGPL-3.0-only", "AGPL-3.0-or-later", "Apache-2.0", "Artistic-2.0", "BSD-2-Clause",
    "BSD-3-Clause", "BSL-1.0", "C-UDA-1.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-NC-4.0", "CC-BY-NC-ND-4.0",
    "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0", "CDLA-Permissive-1.0",
    "CDLA-Permissive-2.0", "CDLA-Sharing-1.0", "EPL-2.0", "EUPL-1.2", "GPL-2.0-only", "GPL-2.0-or-later",
    "GPL-3.0-only", "GPL-3.0-or-later", "ISC", "LGPL-2.1-only", "LGPL-2.1-or-later", "LGPL-3.0-only",
    "LGPL-3.0-or-later", "MIT", "MIT-0", "MPL-2.0", "MS-PL", "NCSA", "O-UDA-1.0", "ODC-By-1.0", "ODbL-1.0",
    "OGL-UK-3.0", "PDDL-1.0", "PostgreSQL", "Python-2.0", "UPL-1.0", "Unlicense", "Zlib",
))  # fmt: skip
_word = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")
_reference = re.compile(r"LicenseRef-[A-Za-z0-9.-]*[A-Za-z0-9]\Z")


def lacking(spec: Spec) -> tuple[str, ...]:
    """What the rights of this plan lack, in sentences; empty if everything that is published has its terms."""
    return tuple(_lacking(spec))


def _lacking(spec: Spec) -> Iterator[str]:
    rights = spec.rights
    if isinstance(rights.model_outputs, str):
        scripted = all(isinstance(arm, ScriptedArm) for arm in spec.factors.arm.values()) and not spec.models
        yield from _terms("model_outputs", rights.model_outputs, may_be_none=scripted)
        if len(set(map(_models, spec.models.values()))) > 1:
            yield "rights.model_outputs gives one text for roles that ask different models: give one for each role"
    else:
        for role in spec.models:
            yield from _terms(f"model_outputs.{role}", rights.model_outputs.get(role), may_be_none=False)
        others = (name for name in rights.model_outputs if name not in spec.models)
        yield from (f"rights.model_outputs.{name} is no role" for name in others)
    yield from _terms("humans", rights.humans, may_be_none=True)
    if isinstance(spec.world, ExternalWorld):
        yield from _terms("data", rights.data, may_be_none=True)


def _models(role: Model | ModelByFactor) -> frozenset[str]:
    return frozenset(one.id for one in (role.levels.values() if isinstance(role, ModelByFactor) else (role,)))


def _terms(name: str, text: str | None, *, may_be_none: bool) -> Iterator[str]:
    if text is None:
        yield f"rights.{name} is missing"
        return
    words = _word.findall(text)
    if may_be_none and words[:1] and words[0].lower() == "none":
        return
    named = [word for word in words if word.rstrip(".") in LICENCES or _reference.match(word.rstrip("."))]
    if not named:
        due = "an SPDX identifier or LicenseRef-NAME, and its source"
        yield f"rights.{name} names no licence: found {text!r}, due {due}"
    elif len(named) == len(words):
        yield f"rights.{name} says {text!r}, and not where that comes from"
