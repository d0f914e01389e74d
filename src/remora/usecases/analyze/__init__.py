"""Runs: planned, carried out on any engine, resumed, forked and retried."""
