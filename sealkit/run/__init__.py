"""Runs slots: order, episodes, processes, one journal writer, and coming back after a crash."""
