"""Change sets merged into the user's files: whole or not at all, also after a crash."""
