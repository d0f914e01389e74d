"""Key-value index over all streams: a disposable view, checked against the streams."""
