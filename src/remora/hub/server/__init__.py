"""The ways in which questions come to a daemon: a Unix socket, loopback HTTP."""
