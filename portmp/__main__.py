"""``python -m portmp``: the command line."""

import sys

from portmp.cli import main

if __name__ == "__main__":
    sys.exit(main())
