"""A number on the command line: between bounds, and one at all."""

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """Neither `inf` nor `nan`, which is within all bounds because it is below and above none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number", param, ctx)
        return number
