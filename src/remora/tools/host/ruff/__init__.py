"""ruff, run on a private copy: findings, fixes, configuration."""
