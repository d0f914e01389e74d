"""Private copies of a project, and code to apply their changes to the user's files."""
