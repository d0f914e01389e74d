"""Rules of the solver: one for each kind of question about values, classes and calls."""
