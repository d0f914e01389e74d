"""Calls that a model writes for functions of which rules find no call, or too few."""
