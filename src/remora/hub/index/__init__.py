"""Indexer, which updates the store from changed files."""
