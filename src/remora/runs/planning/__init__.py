"""Planning: which nodes need which operation."""
