"""Names resolved without looking at values: imports, candidates, call targets."""
