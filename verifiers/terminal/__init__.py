"""The evidence policy `terminal`. See SPEC.md."""
