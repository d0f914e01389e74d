"""The Hub's database: one writer, many readers, and nothing that cannot be rebuilt."""
