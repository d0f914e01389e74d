"""Subprocesses that can reach only what they are given, on every level this machine offers."""
