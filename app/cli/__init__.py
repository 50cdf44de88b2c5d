"""The `warp-rerank` command: each subcommand parses, calls one use case, prints.

Data goes to stdout, progress and messages to stderr. Exit status: 0 done, 1 not done, 2 wrongly called.
"""

import sys

import typer

from app.cli import documents, entities, evaluation, keeping, questions, serving
from app.errors import InvalidRequestError, ServiceError
from warp_core import InvalidInputError

app = typer.Typer(
    name="warp-rerank", no_args_is_help=True, add_completion=False, help=__doc__, pretty_exceptions_enable=False
)
COMMANDS = (
    serving.serve,
    documents.ingest,
    questions.rerank,
    questions.search,
    evaluation.evaluate,
    keeping.verify,
    keeping.export,
    serving.settings,
)
for command in COMMANDS:
    app.command()(command)
app.command("import")(keeping.import_)
app.add_typer(entities.registry, name="registry")
app.add_typer(entities.target, name="target")


def main() -> None:
    """Run the command line; expected errors become one line on stderr."""
    try:
        app()
    except (InvalidInputError, InvalidRequestError) as error:
        print(f"warp-rerank: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    except ServiceError as error:
        print(f"warp-rerank: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
