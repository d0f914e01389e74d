"""What goes when streams grow old: contents that no stream names, and whole streams, on record."""
