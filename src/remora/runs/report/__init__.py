"""Reports of a run: one record, one layout, four formats."""
