"""Subprocesses that can reach only the files they are given, at four levels of isolation."""
