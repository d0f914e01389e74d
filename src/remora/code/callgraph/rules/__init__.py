"""One rule for each kind of question about values, classes and calls."""
