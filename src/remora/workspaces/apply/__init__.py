"""Crash-safe transactions that merge change sets into the user's files."""
