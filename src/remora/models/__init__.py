"""Models: client for OpenAI-compatible servers, embedded model, decoding and token counters."""
