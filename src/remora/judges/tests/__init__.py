"""Judges of tests: whether they can fail, notice faults, and pass in other circumstances."""
