"""What the core raises.

WarpError
└── InvalidInputError    an argument is out of its range; also a ValueError
"""


class WarpError(Exception):
    """Any error that WARP raises on purpose."""


class InvalidInputError(WarpError, ValueError):
    """An argument is out of its allowed range.

    Parameters
    ----------
    argument : the name of the offending argument.
    detail : what is allowed, and what was received.
    """

    def __init__(self, argument: str, detail: str) -> None:
        super().__init__(f"{argument}: {detail}")
        self.argument = argument
        self.detail = detail
