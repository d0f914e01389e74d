"""Indexed program files, with the dataflow, interfaces and cache that the rules use."""
