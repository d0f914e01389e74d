"""The page of `remora ui`: runs, agents, reviews and nodes in a browser on this machine."""
