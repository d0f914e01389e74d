"""Sources of answers, best first: daemon, database, single file."""
