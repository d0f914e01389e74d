"""Redaction: no secret enters a stream; what stands in its place can be told apart."""
