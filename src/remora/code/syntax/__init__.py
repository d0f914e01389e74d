"""Syntactic analysis of Python source, including nodes, signatures, imports and references."""
