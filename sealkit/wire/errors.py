"""Every error that sealkit raises on purpose, and the exit code of each.

    SealkitError
    ├── UsageError        2   the command or its arguments are off
    ├── MalformedError    1   bytes that do not follow their format
    ├── UntrustedError    1   well-formed bytes that contradict what they are checked against
    ├── OutOfOrderError   2   a step before the step it builds on
    └── HarnessError      3   the machine, a study's own code or a provider failed

A message says where, what was found against what is due, and what to do:

>>> print(UsageError("two seeds are equal", where="plans/v1.yaml:41:9 $.sample.seeds", remedy="drop one"))
plans/v1.yaml:41:9 $.sample.seeds: two seeds are equal; drop one
"""

from __future__ import annotations

from typing import ClassVar


class SealkitError(Exception):
    """Any failure that sealkit foresees; `exit_code` is what the command line returns for it."""

    exit_code: ClassVar[int] = 3

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(what)

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{where}{self.what}{remedy}"


class UsageError(SealkitError):
    """The command, its arguments or the plan ask for something that cannot be meant."""

    exit_code = 2


class MalformedError(SealkitError):
    """Bytes that do not follow the format that they claim."""

    exit_code = 1


class UntrustedError(SealkitError):
    """Well-formed bytes that contradict the digest, record or rule they are checked against."""

    exit_code = 1


class OutOfOrderError(SealkitError):
    """A step was asked for before the step that it builds on, or twice."""

    exit_code = 2


class HarnessError(SealkitError):
    """The machine, the study's own code or a provider failed; nothing was ruled."""

    exit_code = 3
