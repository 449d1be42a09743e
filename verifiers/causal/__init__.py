"""The evidence policy `causal`. See SPEC.md."""
