"""Host functions: the only operations that scripts can be granted."""
