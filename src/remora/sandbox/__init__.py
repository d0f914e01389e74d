"""Subprocesses that can access only the files granted to them, at four levels of isolation."""
