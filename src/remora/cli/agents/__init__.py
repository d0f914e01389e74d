"""Commands for authors of agents: definitions, tools, models and schemas."""
