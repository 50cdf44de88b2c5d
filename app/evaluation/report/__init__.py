"""Findings -> sections of tables and plots -> HTML, CSV, JSON, PNG."""
