"""The ladder's rungs: each answers the protocol's requests from another source, or says nothing."""
