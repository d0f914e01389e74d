"""Shared parts of the command line: options, output, errors and loading of commands."""
