"""The `sweep` commands, which work on several repositories."""
