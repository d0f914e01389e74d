"""Agents: definitions, the turn loop, and the translation between tools, models and streams."""
