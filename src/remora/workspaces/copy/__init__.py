"""Private copies of a project: snapshots, workspaces and their changes."""
