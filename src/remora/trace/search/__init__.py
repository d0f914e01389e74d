"""Search of the recorded entries of all streams, by keys and conditions."""
