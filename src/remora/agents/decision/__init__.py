"""The decision of a turn: by rule, by model, or by fallback."""
