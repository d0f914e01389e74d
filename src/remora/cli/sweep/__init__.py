"""Commands with `--repos`, which work on several repositories."""
