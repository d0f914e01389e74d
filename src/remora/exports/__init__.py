"""Exports of streams as recorded lines, OpenTelemetry spans or training rows."""
