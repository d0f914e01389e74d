"""The daemon of one root. It follows changes and answers requests over its servers."""
