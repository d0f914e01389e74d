"""Training rows generated from recorded decisions."""
