"""The command line: one thin file a command, loaded only when it is called."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys

import click

from sealkit import __version__
from sealkit.cli.out import complain
from sealkit.files import remedy_for
from sealkit.wire.errors import SealkitError

COMMANDS = {
    "init": "make a study folder with the reference worlds, verifiers and plans",
    "check": "read a plan and say what will be concluded from which data",
    "power": "the chance of each verdict, if effects were as you suppose",
    "pilot": "run the plan's pilot slots: counted, journaled, never analysed",
    "seal": "commit to a plan and everything it depends on",
    "run": "run the slots of a sealed plan, or go on where a run stopped",
    "import": "take the episodes of an arm from the log of another tool",
    "merge": "take the shards of a run over into its journal, after checking them",
    "verify": "check a study's bytes and evidence, trusting nothing in its folder",
    "amend": "record a change after the seal, and what it does to claims",
    "status": "say where a study stands and what to type next",
    "analyse": "admit episodes, measure them, and rule as the plan says",
    "withhold": "remove the body of a call to a model, and record that it was",
    "claims": "say of every claim whether its evidence is there",
    "publish": "write an edition of an analysed study, if its gates are open",
    "show": "print one record of a study in readable form",
    "schema": "print the JSON Schema of a plan or record",
    "conformance": "run the contract that every world and verifier must keep",
    "demo": "run the dry run of the house study end to end in a scratch folder",
}

_MODULES = {"import": "import_log"}  # a word of the language can be no module's name


class _Lazy(click.Group):
    """A group whose commands are imported when they are asked for, so that `--help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = _MODULES.get(cmd_name, cmd_name)
        command: click.Command = importlib.import_module(f"sealkit.cli.{module}").command
        if not gc.isenabled():  # as `__main__` leaves it: from here on garbage is looked for, in what comes after
            gc.freeze()
            gc.enable()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of that name; where there is none, the one that is spelled much like it is asked after."""
        import difflib

        name = args[0]
        if name not in COMMANDS and (near := difflib.get_close_matches(name, COMMANDS, 1)):
            ctx.fail(f"No such command {name!r}. Did you mean {near[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands, in the order of a study"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="sealkit", message="%(prog)s %(version)s")
def group() -> None:
    """Experiments on AI agents whose conclusions a stranger can check.

    \b
    A study in five commands:
      sealkit init mystudy && cd mystudy
      sealkit check plans/dry-run.yaml
      sealkit seal plans/dry-run.yaml
      sealkit run plans/dry-run.yaml
      sealkit verify receipts/ && sealkit analyse plans/dry-run.yaml

    Exit codes: 0 as it should be, 1 evidence or bytes do not hold, 2 the command or plan is off, 3 something failed.
    """


def main() -> None:
    """Run the command line; every foreseen failure is one message and its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may lack characters; no message is lost over it
    try:
        code = group.main(standalone_mode=False)
    except click.exceptions.Exit as exit_:
        code = exit_.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        complain("stopped by you; nothing recorded is lost", "run the same command again to go on")
        code = 130
    except SealkitError as error:
        complain(str(error))
        code = error.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`| head`); that is no failure of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        complain(f"{error.filename or 'the system'}: {error.strerror or error}", remedy_for(error))
        code = 3
    except Exception as error:  # the last line of defence: a defect of sealkit, said as one
        if "SEALKIT_TRACEBACK" in os.environ:
            raise
        complain(f"a defect in sealkit: {type(error).__name__}: {error}", "set SEALKIT_TRACEBACK=1 to see where")
        code = 3
    sys.exit(code if isinstance(code, int) else 0)
