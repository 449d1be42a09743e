"""The audit of isolation: exactly this was changed, and what follows from it. It shares no code with what makes forks.

Standard library only: a decoding, digests, patches and an execution of its own.
"""
