"""Use cases: each module does one thing for a user, from opened project to result."""
