"""The Node State Hub: fresh facts about every function, class and module of a project."""
