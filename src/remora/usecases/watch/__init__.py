"""`remora watch`: analyses what changed since the last commit, whenever files are saved."""
