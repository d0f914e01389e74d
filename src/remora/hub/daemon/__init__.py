"""The daemon of one root: follows changes and answers requests over its servers."""
