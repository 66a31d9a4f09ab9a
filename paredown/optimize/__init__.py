"""Steps into artifacts: `apply.make` runs a technique in a worker process and keeps what it made by content key."""
