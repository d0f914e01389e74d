"""Pictures of runs, as HTML figures with SVG: pure functions of small records."""
