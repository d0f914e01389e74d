"""Retention of streams, copies and stored contents: compaction and removal."""
