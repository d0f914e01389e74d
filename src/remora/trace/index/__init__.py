"""The KV index over all streams: a view that can be deleted, and is never believed blindly."""
