"""Planning: which functions need which operation, and why."""
