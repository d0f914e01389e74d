"""Intermediate representation (IR) of a file, the input of the call graph."""
