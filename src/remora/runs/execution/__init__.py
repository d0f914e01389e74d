"""Execution of planned runs."""
