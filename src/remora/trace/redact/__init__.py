"""Redaction: secrets are replaced by placeholders before they reach a stream."""
