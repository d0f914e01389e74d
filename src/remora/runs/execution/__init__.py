"""Execution of a planned run: base files, engine, jobs."""
