"""Configuration from defaults, files, environment variables and flags."""
