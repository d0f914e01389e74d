"""Trials of fixes, and the recipe that removes imports which other fixes leave unused."""
