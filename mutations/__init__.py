"""Forks of faithful episodes with one isolated mutation each, for Study A. See SPEC.md."""
