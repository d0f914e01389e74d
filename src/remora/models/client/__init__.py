"""The HTTP client for OpenAI-compatible model servers."""
