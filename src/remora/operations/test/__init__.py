"""Test: write missing tests and prove that they detect faults."""
