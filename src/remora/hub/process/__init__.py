"""A hub seen from outside: where it keeps what it needs, whether it runs, and what it says."""
