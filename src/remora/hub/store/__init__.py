"""The Hub's database: one writer, any number of readers, and nothing in it that cannot be made anew."""
