"""A sealed plan with models, made once."""

from tests.agents.models.bench import bench, sealed_v1, v1, v1_once

__all__ = ("bench", "sealed_v1", "v1", "v1_once")
