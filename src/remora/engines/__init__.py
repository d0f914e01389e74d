"""Engines that hand out the shards of a run to workers elsewhere."""
