"""Type checkers, and the search for annotations that they accept."""
