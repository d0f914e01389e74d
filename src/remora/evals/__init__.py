"""Evaluations: what recorded streams say about settings, without a model."""
