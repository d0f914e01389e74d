"""What the call graph keeps of each file, and what its answers depend on."""
