"""Private copies of a project, the changes made in them, and how those reach the user's tree."""
