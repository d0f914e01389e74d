"""Stream writing: from an event to bytes on disk."""
