"""Workers that run the shards of other machines' runs."""
