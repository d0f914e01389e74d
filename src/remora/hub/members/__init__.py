"""Members of a project, which are the Python files that belong to it."""
