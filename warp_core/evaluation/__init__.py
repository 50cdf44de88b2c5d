"""The papers' evaluation as arithmetic: measures, statistics, perturbations. No clock: latencies are handed in."""
