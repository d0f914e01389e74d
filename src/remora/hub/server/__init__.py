"""Servers of the daemon: a Unix socket server and a loopback HTTP server."""
