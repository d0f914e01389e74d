"""Configuration: defaults, two files, the environment and flags become one frozen record."""
