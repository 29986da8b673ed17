"""``python -m portmp``: the command line."""

import sys

from portmp.cli import main

sys.exit(main())
