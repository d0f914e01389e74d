"""Writing a stream: from an event to the bytes on disk."""
