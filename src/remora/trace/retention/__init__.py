"""Removal of old streams and unreferenced objects, with a record of what was removed."""
