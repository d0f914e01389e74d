"""Execution of a planned run: base files, engine and attempts."""
