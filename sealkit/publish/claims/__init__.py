"""What the history of a study makes of its claims and gates: which are held back, and why."""
