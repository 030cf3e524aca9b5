"""`python -m bpetite` is the `bpetite` command."""

from bpetite.cli import main

if __name__ == "__main__":
    main()
