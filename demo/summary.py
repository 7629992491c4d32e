"""What was seen in the story, at its end; pure."""

from collections import Counter

from demo.expecting import expectations
from demo.story import Story
from demo.words import clock, count, percent, rate, span


def summary(story: Story) -> str:
    """Some lines: what was expected, and the numbers of the whole story."""
    now = story.now.at
    lines = [f"What was seen in {clock(now)} minutes:"]
    lines += [f"  {one.told(now)}" for one in expectations(story)]
    lines += [f"  {line}" for line in (_rescales(story), _recovery(story), _records(story)) if line]
    return "\n".join(lines)


def _rescales(story: Story) -> str:
    paths = Counter(rescale.path.lower() for rescale in story.rescales)
    ways = ", ".join(f"{number} {path}" for path, number in sorted(paths.items()))
    numbers = [rescale.executors for rescale in story.rescales]
    steps = " -> ".join(str(one) for one in [story.first.wanted, *numbers])
    told = count(len(numbers), "rescale")
    return f"{told}{f' ({ways})' if ways else ''}: executors {steps}"


def _recovery(story: Story) -> str:
    recovery, failure = story.recovery, story.failure
    if failure is None or recovery is None or recovery.seconds is None:
        return ""
    predicted = f"{span(failure.predicted)} predicted" if failure.predicted else "nothing predicted"
    is_kept = recovery.seconds <= story.target
    return (
        f"recovery: {predicted}, {span(recovery.seconds)} measured "
        f"({span(recovery.stages.get('firstBatch'))} without a batch); "
        f"the target of {story.promise.target} is {'kept' if is_kept else 'missed'}"
    )


def _records(story: Story) -> str:
    before, now = story.first.numbers.records or 0.0, story.now.numbers.records
    total = None if now is None else now - before
    return (
        f"records: {rate(total)} processed, {percent(story.within)} of them within the bound of "
        f"{story.promise.bound}, the failure included"
    )
