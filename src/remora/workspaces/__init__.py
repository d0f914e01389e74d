"""Private copies of a project, and the application of their changes to the user's files."""
