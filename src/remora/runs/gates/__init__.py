"""Gates: a project's own tests and checkers, which judge all proposals of a run together."""
