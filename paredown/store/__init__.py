"""The record of a run on disk: SQLite entries in a hash chain, and bulk files named by their digest."""
