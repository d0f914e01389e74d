"""The composition root: configuration in, wired objects out."""
