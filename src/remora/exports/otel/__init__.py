"""OpenTelemetry spans of runs and agents."""
