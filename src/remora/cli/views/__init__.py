"""Records rendered for a terminal."""
