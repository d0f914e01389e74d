"""Tool calls in model answers: grammars and parsers."""
