"""Project file discovery, ignore rules and read-only git queries."""
