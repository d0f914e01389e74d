"""Accept, reject and revert: change sets and the user's files."""
