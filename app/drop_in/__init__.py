"""The surfaces of other re-rankers, so that their clients work by changing a base URL.

Each dialect's bodies and answers are in a module of their own. What they share: `addressing` (which collection, entity
and variant a request is about), `ordering` (the re-ranking itself, which gives an order of all that was sent) and
`complaints` (errors as those clients read them).
"""
