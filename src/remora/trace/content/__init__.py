"""On-disk formats for lines, compressed frames, objects stored by hash, and private files."""
