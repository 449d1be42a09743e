"""The entry point; `--version` is answered before anything slow is imported.

Nothing that is imported is ever given back, so no garbage is looked for until a command begins (see `cli`): that is
a tenth of the time of `sealkit seal`.
"""

import sys

from sealkit import __version__


def main() -> None:
    """Run the command line and leave with its exit code."""
    if sys.argv[1:] == ["--version"]:
        print(f"sealkit {__version__}")
        return
    import gc

    gc.disable()
    from sealkit.cli import main as run_command

    run_command()


if __name__ == "__main__":
    main()
