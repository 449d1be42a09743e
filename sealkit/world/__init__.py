"""The world SDK: what an author writes, and what runs it. `from sealkit.world import ...` is the author's view."""

from sealkit.world.draws import Draws as Draws
from sealkit.world.sdk import *  # noqa: F403
