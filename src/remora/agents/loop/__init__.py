"""The turn loop of an agent. Each event is appended and applied before the agent acts on it."""
