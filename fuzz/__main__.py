"""`python -m fuzz`: see `fuzz.runner`."""

import sys

from fuzz.runner import main

if __name__ == "__main__":
    sys.exit(main())
