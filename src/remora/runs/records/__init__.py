"""Records of runs and jobs, read from their streams."""
