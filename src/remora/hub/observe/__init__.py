"""Observation of test runs: which node calls which, and which test enters which node."""
