"""A planned run carried out: its base, its engine, its jobs."""
