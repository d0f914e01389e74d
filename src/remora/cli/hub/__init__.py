"""Commands for the Hub."""
