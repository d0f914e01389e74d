"""What a test of a function can be made of, and where it goes: pure, nothing is run."""
