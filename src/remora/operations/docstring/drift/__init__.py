"""Detection of docstrings that contradict their code."""
