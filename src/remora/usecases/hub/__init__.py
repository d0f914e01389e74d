"""Use cases of the Hub: its daemon, its index and its facts."""
