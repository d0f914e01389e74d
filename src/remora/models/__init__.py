"""Models: the client of OpenAI-compatible servers, the embedded model, decoding and token counts."""
