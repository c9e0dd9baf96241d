"""`python -m meshmsg`: the command line (_cli)."""

import sys

from meshmsg._cli.program import main

if __name__ == "__main__":
    sys.exit(main())
