"""Commands of the `database` group."""
