"""Python source as syntax: nodes, spans, signatures, imports, references."""
