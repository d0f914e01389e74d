"""Host functions, which are the only operations that scripts can be granted."""
