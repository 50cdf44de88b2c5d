"""The methods by name: a selector, an expansion with one (`entity_gated+w1_minimizer`), or the service's `auto`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from app.schemas import AUTO, ExpansionChoice
from warp_core import SELECTORS, InvalidInputError

BASELINE = "top_k"
EXPANSIONS = ("entity_gated", "adaptive")
_AND = "+"


@dataclass(frozen=True)
class Piped:
    """A method that searches for more candidates itself, and how the service is asked for it."""

    name: str
    variant: str
    expansion: ExpansionChoice


ALL = (*SELECTORS, *(f"{expansion}{_AND}w1_minimizer" for expansion in EXPANSIONS), AUTO)
"""What is compared when nothing else is asked for."""


@dataclass(frozen=True)
class Methods:
    """What is compared, the baseline first: selectors, which share one retrieved pool, and the piped ones."""

    selectors: tuple[str, ...]
    piped: tuple[Piped, ...]

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [*self.selectors, *(one.name for one in self.piped)]


def methods_of(names: Sequence[str]) -> Methods:
    """The methods of these names, each once; the baseline is always among them.

    Raises
    ------
    InvalidInputError : there is no such method.
    """
    selectors, piped = [BASELINE], []
    for name in dict.fromkeys(names):
        expansion, found, variant = name.rpartition(_AND)
        if name == AUTO:
            piped.append(Piped(name, AUTO, "auto"))
        elif found and expansion in EXPANSIONS and variant in SELECTORS:
            piped.append(Piped(name, variant, cast(ExpansionChoice, expansion)))
        elif name in SELECTORS:
            selectors.append(name)
        else:
            allowed = f"{AUTO}, {', '.join(SELECTORS)}, or {' or '.join(EXPANSIONS)} + one of these"
            raise InvalidInputError("methods", f"must be {allowed}; got {name!r}")
    return Methods(tuple(dict.fromkeys(selectors)), tuple(piped))
