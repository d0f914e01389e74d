"""Inputs of a decision: hub facts, node versions, extensions."""
