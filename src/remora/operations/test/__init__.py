"""Test: write a missing test and prove that it detects faults."""
