"""`python -m hybridrag.apps.cli` is `hybridrag`."""

import sys

from hybridrag.apps.cli.run import main

sys.exit(main())
