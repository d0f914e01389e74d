"""Tool calls in model answers: grammars that allow them and parsers that read them."""
