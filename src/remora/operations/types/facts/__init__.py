"""Facts about missing annotations, from source code and the type checker."""
