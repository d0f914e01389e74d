"""From changed files to stored facts."""
