"""Runs: plans, engines, results and reviews of agents over a whole project."""
