"""The intermediate form of a file: all that the call graph needs to know of it."""
