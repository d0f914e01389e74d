"""Test cases and the source of tests. Nothing in this package runs project code."""
