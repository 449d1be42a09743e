"""The verifier `witness`: judges an episode from its bytes and the sealed scenario alone. See SPEC.md."""
