"""The page on profiling says why no profile begins in the words of the code."""

from sluice.core.profiling.wanting import Hold
from tests.docs.pages import code, page


def test_every_reason_for_which_no_profile_begins_by_itself_is_on_the_page() -> None:
    text = page("docs/profiling.md").text
    by_itself = text[text.index("## By itself") : text.index("## When it fails")]
    assert {str(hold) for hold in Hold} <= set(code(by_itself))
