"""Export of runs as Inspect evaluation logs."""
