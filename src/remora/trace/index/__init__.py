"""Disposable key-value index over all streams. Its results are checked against the streams."""
