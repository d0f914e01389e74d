"""The command line. Each command parses its arguments, calls a function and prints the result."""
