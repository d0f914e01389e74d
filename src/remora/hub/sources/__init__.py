"""Sources of answers, in order of preference: the daemon, the database, and single files."""
