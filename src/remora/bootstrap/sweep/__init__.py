"""Runs over several repositories."""
