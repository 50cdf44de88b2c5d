"""What the service must keep: the time of a re-ranking (the SLA), and no answer that is the service's own fault."""

from array import array
from collections import Counter, defaultdict

RERANK = "/rerank"
"""The names of all requests that the limit is about begin with this."""
REFUSED = 429


class Agreement:
    """Answers as they come, held against the agreement.

    Parameters
    ----------
    limit_ms : what 99% of the re-rankings that are not refused must not exceed, in milliseconds.
    may_refuse : whether 429 is allowed.
    """

    def __init__(self, limit_ms: float, may_refuse: bool) -> None:
        self.limit_ms = limit_ms
        self.may_refuse = may_refuse
        self.statuses: Counter[int] = Counter()
        self._reranks_ms = array("d")
        self._failures: dict[str, int] = defaultdict(int)

    def note(self, name: str, took_ms: float, status: int, failure: str | None) -> None:
        """One answer; its status is 0 when the connection broke. `failure` says what is wrong with it, beyond that."""
        self.statuses[status] += 1
        if status == REFUSED or status >= 500:
            return  # told by their status
        if failure:
            self._failures[f"{name}: {failure}"] += 1
        elif name.startswith(RERANK):
            self._reranks_ms.append(took_ms)

    def rerank_ms(self, share: float) -> float:
        """The time that this share of the re-rankings did not exceed, in milliseconds; nan without any."""
        took = sorted(self._reranks_ms)
        return took[min(len(took) - 1, int(share * len(took)))] if took else float("nan")

    @property
    def errors(self) -> int:
        """Answers of 500 and more."""
        return sum(n for status, n in self.statuses.items() if status >= 500)

    def misses(self) -> list[str]:
        """What was not kept."""
        found = [f"{n} times {failure}" for failure, n in sorted(self._failures.items())]
        p99 = self.rerank_ms(0.99)
        if not p99 <= self.limit_ms:
            found.append(f"/rerank p99 of {len(self._reranks_ms):,} is {p99:.1f} ms, the limit is {self.limit_ms:g} ms")
        if self.errors:
            by_status = ", ".join(f"{n} x {status}" for status, n in sorted(self.statuses.items()) if status >= 500)
            found.append(f"the service failed: {by_status}")
        if self.statuses[REFUSED] and not self.may_refuse:
            found.append(f"{self.statuses[REFUSED]} requests were refused (429), which only a spike may be")
        return found

    def __str__(self) -> str:
        return (
            f"{sum(self.statuses.values()):,} requests, {self.errors} of 5xx, {self.statuses[REFUSED]:,} refused; "
            f"{len(self._reranks_ms):,} re-rankings, p50 {self.rerank_ms(0.5):.1f}, p95 {self.rerank_ms(0.95):.1f}, "
            f"p99 {self.rerank_ms(0.99):.1f} ms, limit {self.limit_ms:g}"
        )
