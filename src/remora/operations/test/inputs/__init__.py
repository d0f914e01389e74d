"""Calls that a test could make, from documentation, other code and types."""
