"""Storage of streams and contents in PostgreSQL. Requires the extra `postgres`."""
