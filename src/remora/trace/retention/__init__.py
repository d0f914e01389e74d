"""Removal of old streams and unreferenced objects. Every removed stream is recorded."""
