"""Verification of streams: hashes, folds, prompts, contents, anchors."""
