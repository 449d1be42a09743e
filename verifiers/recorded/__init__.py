"""The verifier `recorded`: is this what an external world may say of this slot? See SPEC.md."""
