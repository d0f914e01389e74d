"""Callers of a node: the sites that may lead to it, found through its names and aliases."""
