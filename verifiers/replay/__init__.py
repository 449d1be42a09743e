"""The verifier `replay`: runs the sealed world again on the same actions and compares bytes. See SPEC.md."""
