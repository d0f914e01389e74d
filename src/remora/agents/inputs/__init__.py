"""Inputs to a decision: Hub facts, node versions and packet extensions."""
