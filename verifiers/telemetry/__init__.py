"""Two structured projections, for secondary ablations: canonical actions, and state transitions. See SPEC.md."""
