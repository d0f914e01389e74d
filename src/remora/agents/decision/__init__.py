"""Decides each turn's call: by rule, by asking a model, or by falling back to a default."""
