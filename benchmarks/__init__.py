"""Ratios that the design promises, measured in one run: `python -m benchmarks [NAME …] [--json]`.

Every figure compares two things on the same machine in the same minutes, in turns, and takes medians; so it
means something on any machine. Nothing here is a test: a slow machine is no defect. One test runs the frame
at tiny sizes, so that it does not rot.
"""
