"""Training rows made from recorded decisions."""
