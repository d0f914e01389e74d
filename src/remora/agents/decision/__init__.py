"""Decides the call of each turn: by rule, by asking a model, or by falling back to a default."""
