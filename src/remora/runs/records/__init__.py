"""What streams say of runs and jobs, read back as records."""
