"""What tests show while they run: who calls whom, and which test enters which node."""
