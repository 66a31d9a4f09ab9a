"""Source models and artifacts on disk: find, check, describe."""
