"""Functions, classes, annotations and types in the source of a project."""
