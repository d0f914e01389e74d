"""Host functions: the closed set of structured operations that a granted script may call."""
