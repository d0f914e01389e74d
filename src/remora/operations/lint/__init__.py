"""The lint operation, which removes ruff findings."""
