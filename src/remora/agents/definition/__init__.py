"""Agent definitions: `agent.yaml`, its scripts, and their validation."""
