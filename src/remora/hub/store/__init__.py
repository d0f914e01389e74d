"""The Hub's database. It has one writer and many readers, and all of its data can be rebuilt."""
