"""Planning, execution and review of runs. A run applies agents to a whole project."""
