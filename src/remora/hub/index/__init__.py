"""Indexing: from changed files to stored facts."""
