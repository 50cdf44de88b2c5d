"""Options that several subcommands share, and the settings that they make."""

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError

from app.settings import Settings
from warp_core import InvalidInputError

DataDir = Annotated[Path | None, typer.Option(help="Where the embedded store lives.")]
StoreUrl = Annotated[str | None, typer.Option("--store", help="sqlite:///FILE.")]
EncoderName = Annotated[
    str | None, typer.Option("--encoder", help="sentence-transformers name or path, onnx:FOLDER, or wordllama.")
]
Collection = Annotated[str, typer.Option(help="The collection.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def settings_with(**given: Any) -> Settings:
    """The settings of the environment, with those options that were given on top.

    Raises
    ------
    InvalidInputError : a setting is wrong.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        wrong = error.errors()[0]
        name = str(wrong["loc"][0]) if wrong["loc"] else "settings"
        raise InvalidInputError(name, wrong["msg"].removeprefix("Value error, ")) from error
    except SettingsError as error:  # a list that is no JSON
        raise InvalidInputError("settings", str(error)) from error
