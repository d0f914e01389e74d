"""The Node State Hub: provides fresh facts about a project's functions, classes and modules."""
