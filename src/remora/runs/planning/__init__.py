"""Which functions need which operation, and why."""
