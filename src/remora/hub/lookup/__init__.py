"""Names that people type, resolved to nodes or to suggestions."""
