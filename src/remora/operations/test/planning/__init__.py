"""Which functions have tests, and which modules can be imported."""
