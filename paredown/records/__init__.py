"""Frozen records: what the stages pass to each other and the store keeps. Units are in the names."""
