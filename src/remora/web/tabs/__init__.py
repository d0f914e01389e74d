"""The tabs of an agent's turn: what each shows, read from the stream."""
