"""Numbered records in, and an exact account of what came out."""
