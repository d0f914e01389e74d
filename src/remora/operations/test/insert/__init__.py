"""A new test added to a test file: imports, place, names."""
