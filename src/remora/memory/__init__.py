"""Two-Track Memory: the records of both tracks and the pure functions between them."""
