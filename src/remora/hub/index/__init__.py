"""Indexer: updates the store from changed files."""
