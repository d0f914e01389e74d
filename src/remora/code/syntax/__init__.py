"""Syntax of Python source: nodes, spans, signatures, imports, references."""
