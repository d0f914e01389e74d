"""Docstrings: expected content, style, and the edit that writes or updates one."""
