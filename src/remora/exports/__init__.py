"""Exports of streams as transcripts, OpenTelemetry spans or training rows."""
