"""Retention of streams, copies and stored contents, including compaction and removal."""
