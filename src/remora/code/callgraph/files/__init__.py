"""Program files, as used by the rules: indexed IR, flows, interface and cache."""
