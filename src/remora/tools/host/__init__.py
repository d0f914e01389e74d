"""The host functions: the closed, structured things a granted script may ask for."""
