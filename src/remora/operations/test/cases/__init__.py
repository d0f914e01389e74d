"""Cases, properties and source text of tests. Nothing in this package runs project code."""
