"""Observation of test runs: which nodes call each other, and which nodes each test enters."""
