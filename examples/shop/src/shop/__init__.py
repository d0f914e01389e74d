"""Orders, prices and stock of a small shop."""

__version__ = "0.3.0"
