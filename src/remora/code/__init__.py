"""Static model of Python code: syntax, call graph, tests. Never executes the code."""
