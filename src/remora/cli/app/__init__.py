"""The command line itself: options, output, errors, command loading."""
