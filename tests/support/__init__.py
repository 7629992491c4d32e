"""Builders with good defaults, and fakes that record and answer."""
