"""Name resolution without points-to values: imports, candidates, search scopes, call targets."""
