"""The registry of a collection: which names are one entity. Opinions count under the first of them."""

from collections.abc import Iterable, Mapping

from app.errors import InvalidRequestError, escaped, pointing_at
from app.names import entity_key

MAX_NAMES = 50_000

Registry = dict[str, tuple[str, ...]]


def checked_registry(given: Mapping[str, Iterable[str]]) -> Registry:
    """A registry with all names as entity keys, in order; an entity without other names is left out.

    Raises
    ------
    InvalidRequestError : a name is not allowed, or belongs to two entities, or there are too many.
    """
    owners: dict[str, str] = {}
    registry: Registry = {}
    for name, aliases in given.items():
        pointer = f"/registry/{escaped(name)}"
        with pointing_at(pointer):
            entity = entity_key("entity", name)
        keys = []
        for i, alias in enumerate(aliases):
            with pointing_at(f"{pointer}/{i}"):
                keys.append(entity_key("entity", alias))
        for key in dict.fromkeys([entity, *keys]):
            if owners.setdefault(key, name) != name:
                raise InvalidRequestError.at(pointer, f"{key!r} is a name of {owners[key]!r} too")
        others = tuple(sorted(set(keys) - {entity}))
        if others:
            registry[entity] = others
    if len(owners) > MAX_NAMES:
        raise InvalidRequestError.at("/registry", f"at most {MAX_NAMES} names are allowed, got {len(owners)}")
    return dict(sorted(registry.items()))


def merged(registry: Mapping[str, Iterable[str]], entity: str, others: Iterable[str]) -> Registry:
    """The registry in which `others`, with all their other names, are names of the entity.

    Raises
    ------
    InvalidRequestError : as `checked_registry`.
    """
    with pointing_at("/entity"):
        joined = [entity_key("entity", name) for name in (entity, *others)]
    owner = {alias: name for name, aliases in registry.items() for alias in aliases}
    roots = {owner.get(name, name) for name in joined}
    names = {name for root in roots for name in (root, *registry.get(root, ()))} | set(joined)
    kept = {name: tuple(aliases) for name, aliases in registry.items() if name not in roots}
    return checked_registry({**kept, joined[0]: sorted(names - {joined[0]})})
