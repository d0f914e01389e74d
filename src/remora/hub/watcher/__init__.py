"""Watchers: what the system tells of changed files, and whether that is all of it."""

from remora.hub.watcher.choice import open_watcher
from remora.hub.watcher.seen import Kind, Seen, Watcher

__all__ = ["Kind", "Seen", "Watcher", "open_watcher"]
