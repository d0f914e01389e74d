"""Verification of the hashes, packets, prompts, stored content and anchors in streams."""
