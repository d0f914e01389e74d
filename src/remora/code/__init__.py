"""Static model of Python code: its syntax, call graph and tests. The code is never executed."""
