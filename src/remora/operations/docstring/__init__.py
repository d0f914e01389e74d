"""The docstring operation, which adds and updates docstrings."""
