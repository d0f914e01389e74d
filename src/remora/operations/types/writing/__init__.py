"""Annotations in source text."""
