"""Run reports in four formats, all written from one record and one layout."""
