"""Planning of a run, which determines the operations that each node needs."""
