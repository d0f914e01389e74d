"""Retention of streams, copies and contents: what is compacted, removed or kept."""
