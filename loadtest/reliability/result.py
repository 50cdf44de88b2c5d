"""What a row of the scoreboard says."""

from dataclasses import dataclass

from loadtest.reliability.checking import Findings


@dataclass(frozen=True)
class Result:
    """A row's figure over one store, and whether it is good enough."""

    figure: str
    passed: bool


def told(findings: Findings, *also: str, may_lose: bool = False) -> Result:
    """The figures of a run.

    Parameters
    ----------
    also : more figures.
    may_lose : whether acknowledged changes may be lost.
    """
    figures = [
        f"{findings.acknowledged:,} changes acknowledged",
        f"lost {len(findings.lost)}",
        f"drift {len(findings.drift)}",
        f"negatives {findings.negatives}",
        f"wrong documents {len(findings.wrong) + findings.conflicts}",
        f"followers astray {findings.astray}",
    ]
    found = [*findings.drift[:3], *findings.wrong[:3], *([] if may_lose else map(str, findings.lost[:3]))]
    passed = findings.exact and findings.acknowledged > 0 and (may_lose or not findings.lost)
    return Result(", ".join([*figures, *also, *found]), passed)
