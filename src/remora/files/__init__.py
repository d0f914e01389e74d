"""Which files belong to a project, and how git is asked about it."""
