"""Intermediate representation (IR) of a file, which is the input to the call graph."""
