"""The world of the belief-log study: a house whose doors, keys and orders may change. See SPEC.md."""
