"""Share files: an agent or a run as one HTML file that needs no server and no network."""
