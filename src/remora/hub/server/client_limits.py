"""Limits for one client of either server."""

WRITE_LIMIT = 1 << 20
"""Unread bytes after which requests of a client wait and a subscriber is dropped."""
PATIENCE_S = 30.0
"""Seconds that a request may stay unfinished, or an answer unread."""
QUIET_S = 0.5
"""Seconds of silence before a connection that sent too much is closed."""
