"""Reports of what agents would do, without a run that is recorded."""
