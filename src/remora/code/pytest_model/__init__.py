"""Static model of a project's pytest tests and fixtures, and the nodes they exercise."""
