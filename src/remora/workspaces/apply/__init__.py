"""Transactions that merge change sets into the user's files, and survive a crash."""
