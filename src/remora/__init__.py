"""Remora: small models maintain real code, and every turn of it can be proved."""
