"""Reading streams: events, packets, transcripts, and what was before a turn."""
