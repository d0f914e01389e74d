"""Command line: parse arguments, call one function, print the result, set the exit code."""
