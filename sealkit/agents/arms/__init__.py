"""The arms of a plan as players: scripted agents, models with notes or a belief store, and a study's own.

    player, reads_truth = start_player(arm, world, scenario, study)

No arm of sealkit's opens a connection: a player yields what it asks and is sent the replies.
"""

from sealkit.agents.arms.start import start_player

__all__ = ("start_player",)
