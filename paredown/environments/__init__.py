"""Python environments of their own, made on first use, for packages that cannot live beside the others.

`locate` asks whether a finished one is there, `ensure` makes it when it is not, `listing` says what is on the disk.
"""

from paredown.environments.build import OnProgress, ensure, python_of
from paredown.environments.place import Finished, directory, listing, locate, python_in, removed

__all__ = ["Finished", "OnProgress", "directory", "ensure", "listing", "locate", "python_in", "python_of", "removed"]
