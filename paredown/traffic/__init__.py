"""Workloads: what is sent, read from files and traces or made to measure."""
