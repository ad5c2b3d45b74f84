"""python -m wellposed: the command `wellposed`."""
import signal
import sys

from . import _core


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_core.run_command(["wellposed", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
