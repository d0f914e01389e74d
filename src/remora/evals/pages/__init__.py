"""Pages of evaluations: what the eval commands write, as pictures and tables."""
