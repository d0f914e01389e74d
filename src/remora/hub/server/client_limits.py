"""How much of one client is borne, whichever way it came in."""

WRITE_LIMIT = 1 << 20
"""Bytes not yet read by a client: then it is asked nothing more, and a subscriber is dropped."""
PATIENCE_S = 30.0
"""How long a line or request may stay unfinished, or an answer unread."""
QUIET_S = 0.5
"""How long a connection that sent too much must be silent before it is closed."""
