"""A syntax tree becomes what linking needs of it, in one pass."""
