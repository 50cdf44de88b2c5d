"""Documents -> opinions, for documents that bring none."""
