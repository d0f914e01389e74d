"""Integration of ruff, including its findings, fixes and configuration."""
