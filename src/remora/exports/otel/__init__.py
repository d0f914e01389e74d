"""Export of runs and agents as OpenTelemetry spans."""
