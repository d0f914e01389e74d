"""Update actions carried out: by `.pym` scripts that are told plain facts of a file's tree."""
