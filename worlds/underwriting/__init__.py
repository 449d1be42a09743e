"""A world that is interrupted: a case and a policy that may change between reading and recommending. See SPEC.md."""
