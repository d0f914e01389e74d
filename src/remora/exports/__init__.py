"""Exports of streams: transcripts, OpenTelemetry spans, Inspect logs, training rows."""
