"""The Hub's database. It has one writer and many readers, and all its data can be rebuilt."""
