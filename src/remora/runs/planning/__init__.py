"""Planning of the operations that each node needs."""
