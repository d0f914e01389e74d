"""Candidate types and their ranking."""
