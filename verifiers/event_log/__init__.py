"""The evidence policy `event_log`. See SPEC.md."""
