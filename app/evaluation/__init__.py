"""The papers' evaluation on a corpus: reading, indexing, retrieving, running, reporting. The core does the sums."""
