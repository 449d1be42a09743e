"""The underwriting desk of Study B: one change, at five points of the work or from five senders. See SPEC.md."""
