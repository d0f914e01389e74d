"""Reading streams: events, packets, transcripts, and the state before a turn."""
