"""Calls of functions: where they come from, and what they return."""
