"""Which functions get a job: those without tests for which a proposal can be made."""
