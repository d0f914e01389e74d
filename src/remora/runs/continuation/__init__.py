"""Runs and agents that go on: resume, retry, fork."""
