"""The evidence policy `milestones`. See SPEC.md."""
