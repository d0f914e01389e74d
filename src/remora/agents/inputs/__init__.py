"""Inputs to a decision: hub facts, node versions, extensions."""
