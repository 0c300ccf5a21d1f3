"""``python -m structpos.cli`` is ``structpos``."""

import sys

from structpos.cli import main

if __name__ == "__main__":
    sys.exit(main())
