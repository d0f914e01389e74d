"""Queries about nodes, based on a snapshot of the code."""
