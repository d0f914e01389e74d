"""The Long Track on disk: append-only streams, and all that is read from them."""
