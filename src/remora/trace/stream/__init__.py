"""Writing of events to streams on disk."""
