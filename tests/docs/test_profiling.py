"""The page on profiling says why no profile begins in the words of the code."""

import re

import yaml

from sluice.console.profiling import Wish
from sluice.core.profiling.wanting import Hold
from tests.docs.pages import code, page


def test_every_reason_for_which_no_profile_begins_by_itself_is_on_the_page() -> None:
    text = page("docs/profiling.md").text
    by_itself = text[text.index("## By itself") : text.index("## When it fails")]
    assert {str(hold) for hold in Hold} <= set(code(by_itself))


def test_the_object_on_the_page_is_the_one_that_the_command_makes() -> None:
    made = yaml.safe_load(page("docs/profiling.md").blocks("yaml")[0])
    wish = Wish(executors=(1, 2, 4), core_hours=1)
    assert made["spec"] == {"job": "enrichment", **wish.spec}
    assert re.fullmatch(r"enrichment-\d{8}-\d{6}", made["metadata"]["name"])
