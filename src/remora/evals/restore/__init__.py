"""Measures operations and models on the user's own code: hide what people wrote, and compare."""
