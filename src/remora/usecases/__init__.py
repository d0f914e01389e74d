"""What a user can do: each module is one use case, from opened project to result."""
