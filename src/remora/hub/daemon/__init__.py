"""The daemon of a project, which follows file changes and answers requests."""
