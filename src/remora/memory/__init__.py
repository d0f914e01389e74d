"""Two-Track Memory: the records of both tracks, and pure functions that process them."""
