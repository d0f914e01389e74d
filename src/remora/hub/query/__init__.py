"""Queries about nodes, over any snapshot of the code."""
