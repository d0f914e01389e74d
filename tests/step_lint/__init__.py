"""A lint operation for tests of the turn loop: one node a job, several turns, and real choices."""
