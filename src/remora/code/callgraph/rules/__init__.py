"""Solver rules, one for each kind of question about values, classes and calls."""
