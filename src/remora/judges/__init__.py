"""Judges: what decides whether a change stands. None of them writes a change."""
