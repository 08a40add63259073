"""Runs the command line: `python -m horae` is `horae`."""

from horae.cli.main import main

if __name__ == "__main__":
    main()
