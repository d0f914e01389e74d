"""Access to models: a client for OpenAI-compatible servers, and the embedded model."""
