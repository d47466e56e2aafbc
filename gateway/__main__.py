"""`python -m gateway` is `apiserver-gateway`."""

import sys

from gateway.commands.cli import main

sys.exit(main())
