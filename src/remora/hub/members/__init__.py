"""Which Python files belong to a project, found again in milliseconds."""
