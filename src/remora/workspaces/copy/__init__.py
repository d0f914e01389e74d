"""Private copies of a project: base snapshots, workspaces and their changes."""
