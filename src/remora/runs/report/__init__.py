"""Run reports in several formats, all created from the same data."""
