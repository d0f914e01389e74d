"""Files of a program as the rules read them: IR with indexes, flows, interface, cache."""
