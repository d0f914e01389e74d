"""Agent definitions, decisions, the turn loop, replay and forks."""
