"""What tests show while they run: who calls whom, and which test enters which node."""

from remora.hub.observed import Observation, ObservedCall, ObservedTest, anchor_of

__all__ = ["Observation", "ObservedCall", "ObservedTest", "anchor_of"]
