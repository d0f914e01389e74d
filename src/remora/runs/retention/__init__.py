"""Old streams, copies and contents: compacted, removed, or kept with a reason."""
