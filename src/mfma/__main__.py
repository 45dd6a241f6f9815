"""The command line as ``python -m mfma``."""

from mfma.cli import main

if __name__ == "__main__":
    main(prog_name="mfma")
