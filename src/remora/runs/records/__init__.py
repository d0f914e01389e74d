"""Records of runs and jobs, which are read from streams."""
