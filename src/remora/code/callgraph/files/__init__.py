"""Indexed program files, with the dataflow and cache that the rules use."""
