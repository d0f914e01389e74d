"""Whether the streams on disk are what was written: hashes, folds, prompts, contents, anchors."""
