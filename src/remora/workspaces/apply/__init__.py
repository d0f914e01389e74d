"""Crash-safe transactions that merge changes into the user's files."""
