"""Redaction, which replaces secrets with placeholders before they are written to a stream."""
