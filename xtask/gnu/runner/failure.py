"""The end of a run that could not be made."""

import sys


def die(message):
    print(f'gnu-tests: {message}', file=sys.stderr)
    sys.exit(2)
