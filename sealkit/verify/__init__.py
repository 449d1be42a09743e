"""Runs verifiers and judges over recorded episodes; nothing here trusts the folder that it reads."""
