"""Subprocesses that can access only files granted to them. There are four isolation levels."""
