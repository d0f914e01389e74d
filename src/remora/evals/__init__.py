"""Evaluations that compare settings on recorded streams, without a model."""
