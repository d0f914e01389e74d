"""Agent definitions: `agent.yaml`, its scripts, and the checks of both."""
