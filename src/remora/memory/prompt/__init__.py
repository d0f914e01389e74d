"""Renderings of a packet: pure functions, each with a name and a version."""
