"""What a study tells: reviews of its evidence, and its analysis."""
