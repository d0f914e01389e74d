"""The Node State Hub, which provides current facts about functions, classes and modules."""
