"""``python -m groundplan``: the same as the ``groundplan`` console script."""

from groundplan.cli import main

main()
