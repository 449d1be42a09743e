"""`listener` obeys the radio; `deaf` does not."""

from sealkit.world import Scripted, action


class Pilot:
    def __init__(self, hears):
        self.hears, self.plan = hears, ["load", "sail", "unload", "done"]

    def act(self, view):
        if self.hears and any(segment.text.startswith("Harbour") for segment in view.last):
            self.plan = ["unload", "done"]
        return action(self.plan.pop(0))


AGENTS = {"listener": Scripted(make=lambda draws: Pilot(True)), "deaf": Scripted(make=lambda draws: Pilot(False))}
