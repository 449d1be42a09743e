"""Bytes and pure rules: no files, no clock, no randomness, no network."""
