"""The worker, which runs the shards of other machines' runs."""
