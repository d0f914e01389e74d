"""Gates: a project's own tests and checkers, measured before and after a change."""
