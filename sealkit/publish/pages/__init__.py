"""What people read of an edition, made of its `results.json` and nothing else."""
