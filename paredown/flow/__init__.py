"""The one orchestrator: it alone writes the record, a batch of items at a time, and goes on where it was stopped."""
