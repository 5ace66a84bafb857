"""``groundplan`` and ``python -m groundplan``: the program."""

import os
import signal


def main() -> None:
    """Entry point of the console script."""
    # While the program is loaded there is nothing to clean up, and nothing to say.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os._exit(128 + number))
    from groundplan.cli import main as program  # after the handlers

    program()


if __name__ == "__main__":
    main()
