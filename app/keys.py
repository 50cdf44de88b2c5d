"""Bearer keys as the setting `api_keys` has them: with rights, and as SHA-256 digests.

A key is random and long (`secrets.token_urlsafe(32)`), so a plain digest keeps it as well as a slow one would. Settings
turn keys into digests where they are read, and take digests too, so that neither the process nor its configuration need
hold a key.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, cast, get_args

Right = Literal["read", "ingest", "admin"]
"""read: re-rank, search, look things up. ingest: store and delete documents. admin: everything else."""
RIGHTS: tuple[Right, ...] = get_args(Right)

_ANY = "|".join(RIGHTS)
_DIGEST = "sha256:"
_ENTRY = re.compile(
    rf"(?:(?P<rights>(?:{_ANY})(?:\+(?:{_ANY}))*):)?(?:{_DIGEST}(?P<digest>[0-9a-fA-F]{{64}})|(?P<key>[!-9;-~]+))"
)
_FORM = f"rights are {', '.join(RIGHTS)}; KEY is printable ASCII without spaces and colons, or sha256:DIGEST"
"""A key has no colon, so that neither a mistyped right nor a mistyped digest passes for one."""


@dataclass(frozen=True)
class Key:
    """What is known of a key."""

    digest: bytes
    rights: frozenset[Right]


def digest_of(key: bytes) -> bytes:
    """What is kept of a key."""
    return sha256(key).digest()


def hashed_entries(entries: Sequence[str]) -> tuple[str, ...]:
    """The entries with every key as its digest: `read+ingest:KEY` -> `read+ingest:sha256:DIGEST`.

    Raises
    ------
    ValueError : an entry holds no key; it is told by its position, never by its text.
    """
    hashed = []
    for position, entry in enumerate(entries):
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise ValueError(f"entry {position} is not [RIGHT[+RIGHT]:]KEY; {_FORM}")
        digest = match["digest"] or digest_of(match["key"].encode()).hex()
        rights = f"{match['rights']}:" if match["rights"] else ""
        hashed.append(f"{rights}{_DIGEST}{digest.lower()}")
    return tuple(hashed)


def keys_of(entries: Sequence[str]) -> list[Key]:
    """The keys of entries in either form; one without rights has all.

    Raises
    ------
    ValueError : as `hashed_entries`.
    """
    keys = []
    for entry in hashed_entries(entries):
        rights, _, digest = entry.rpartition(_DIGEST)
        named = rights.rstrip(":").split("+") if rights else RIGHTS
        keys.append(Key(bytes.fromhex(digest), frozenset(cast(Sequence[Right], named))))
    return keys
