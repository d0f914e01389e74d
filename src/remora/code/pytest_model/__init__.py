"""A project as pytest sees it: its tests, fixtures, and the functions they reach."""
