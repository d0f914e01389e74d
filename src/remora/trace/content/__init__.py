"""Bytes on disk: lines, compressed frames, objects stored by hash, private files."""
