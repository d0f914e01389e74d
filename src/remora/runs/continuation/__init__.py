"""Resuming runs, retrying jobs and forking agents."""
