"""What an agent is told before it decides: hub facts, node versions, extensions."""
