"""Queries about nodes on any snapshot of the code."""
