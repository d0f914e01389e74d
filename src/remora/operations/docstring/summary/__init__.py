"""Summaries: what they must say, and the place where their likelihood is measured."""
