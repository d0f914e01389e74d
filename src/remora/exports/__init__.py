"""Streams in the forms that other tools read: transcripts, spans, Inspect logs, training rows."""
