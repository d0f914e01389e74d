"""Tools: scripts run on a tree through closed host functions, their results one contract."""
