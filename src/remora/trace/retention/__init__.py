"""Removal of old streams and unreferenced contents, with a record of what was removed."""
