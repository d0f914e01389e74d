"""The composition root, which builds and connects objects according to the configuration."""
