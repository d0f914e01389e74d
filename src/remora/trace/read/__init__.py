"""Reading of events, packets, transcripts and past states from streams."""
