"""Commands for agent authors: definitions, tools, models, schemas."""
