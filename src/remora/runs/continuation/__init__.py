"""Continuation of runs and agents: resume, retry, fork."""
