"""Observation of test runs, which records calls between nodes and the nodes that each
test enters.
"""
