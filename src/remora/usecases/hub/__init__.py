"""Use cases of the Hub: its daemon, its index, its facts and the observation of tests."""
