"""Observation of test runs: who calls whom, and which test enters which node."""
