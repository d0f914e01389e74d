"""The Hub's database: one writer, many readers, and no data that cannot be rebuilt."""
