"""Lowering of syntax trees to the IR, in one pass per file."""
