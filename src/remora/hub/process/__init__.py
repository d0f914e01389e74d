"""Paths and addresses of the daemon process, and functions to control it and send it requests."""
