"""The judgement of all changes of a run together, or of the part that a user accepts."""
