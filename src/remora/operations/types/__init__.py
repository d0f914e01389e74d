"""The types operation: adds missing annotations, judged by a type checker."""
