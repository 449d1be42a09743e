"""Each generation of a sample whose blocks were run again: every slot with its k-th episode, or else its last.

    generations = Generations(study, until)         # as many as the slot with the most episodes has
    generations.take(checked, found, pin)           # every confirmatory episode that no amendment dropped
    generations.fail(event, pin)                    # how the last attempt ended at a slot without an episode
    generations.cells                               # of each generation, the first first

An amendment that runs blocks again takes one draw for another. Who amends often enough has many draws of what does not
please, and neither the first of them nor the last says how many there were. So every generation is ruled on.
"""

from __future__ import annotations

from array import array
from itertools import islice

from sealkit.infer.cells import Cells
from sealkit.plan.slots import SlotIndex
from sealkit.publish.review.outcomes import Measured, Outcomes
from sealkit.verify.study import Checked, Study
from sealkit.wire.events import EpisodeKept, Failed
from sealkit.wire.records import Count


class Generations:
    """The cells of every generation; how many there are is counted in the journal first."""

    def __init__(self, study: Study, until: Count) -> None:
        spec = study.sealed.plan.spec
        self._index = SlotIndex(spec, "confirmatory")
        self._due, self._had = (array("I", bytes(4 * self._index.count)) for _ in range(2))
        for entry in islice(study.sealed.history().entries(), until):
            event = entry.event
            if isinstance(event, EpisodeKept) and event.stage == "confirmatory":
                number = self._index.find(event.slot)
                if number is not None:
                    self._due[number] += 1
        self.cells = tuple(Cells(spec) for _ in range(max(1, max(self._due, default=1))))
        self._outcomes = tuple(Outcomes(study.latest, cells, spec) for cells in self.cells)

    def take(self, checked: Checked, found: Measured, pin: Count) -> None:
        """One more episode of its slot, which stands in every later generation too if it is the last."""
        number = self._index.find(checked.slot)
        if number is None:
            return
        place = self._had[number]
        self._had[number] += 1
        last = self._had[number] >= self._due[number]
        for outcomes in self._outcomes[place : None if last else place + 1]:
            outcomes.take(checked, found, pin)

    def fail(self, event: Failed, pin: Count) -> None:
        """A slot that has no episode that counts; one that was run again has its earlier ones here."""
        for outcomes in self._outcomes:
            outcomes.fail(event, pin)
