"""Retention of streams, copies and stored contents, including compression and removal."""
