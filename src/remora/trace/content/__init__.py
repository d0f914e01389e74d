"""Bytes on disk: lines, compressed frames, contents stored by hash, private files."""
