"""Pictures of runs and projects, as HTML figures with SVG: pure functions of small records."""
