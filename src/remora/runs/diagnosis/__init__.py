"""Diagnosis of jobs: why an agent failed, computed from its stream without a model."""
