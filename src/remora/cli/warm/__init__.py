"""A process of the daemon that has imported what `check` needs, and its client."""
