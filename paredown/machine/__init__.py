"""What this host is. Asks, never sets; loads no heavy library."""

from paredown.machine.describe import describe

__all__ = ["describe"]
