"""The test operation, which writes missing tests and proves that they detect faults."""
