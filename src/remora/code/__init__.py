"""Python source to nodes: text in, records out, nothing of it is run."""
