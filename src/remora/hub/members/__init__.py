"""Membership: which Python files belong to a project."""
