"""The composition root: the project, its streams, its interpreter and its models, as configured."""
