"""What a run came to, in one record, and the four forms in which it can be handed on."""
