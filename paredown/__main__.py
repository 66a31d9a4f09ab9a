"""`python -m paredown` is the command line."""

from paredown.cli.main import main

if __name__ == "__main__":
    main()
