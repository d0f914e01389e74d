"""Retention of streams, copies and contents: compact, remove, or keep with a reason."""
