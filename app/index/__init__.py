"""What is known of each collection's documents for search and expansion: opinions by entity, and vectors.

`base` is the seam that the use cases call. `local` serves it from this process: documents in immutable segments, mapped
from the data directory and shared by all processes there, with what changed since on top. `snapshots` writes those.
"""
