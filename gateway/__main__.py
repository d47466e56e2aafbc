"""`python -m gateway` is `apiserver-gateway`."""

import sys

from gateway.cli import main

sys.exit(main())
