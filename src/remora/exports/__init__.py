"""Exports of streams as transcripts, OpenTelemetry spans, Inspect logs or training rows."""
