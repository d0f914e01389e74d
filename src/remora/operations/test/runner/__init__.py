"""The project's own code run in isolation: its tests, and single calls of its functions."""
