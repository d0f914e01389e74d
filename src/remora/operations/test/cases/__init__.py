"""Cases, properties and source text of tests; nothing is run."""
