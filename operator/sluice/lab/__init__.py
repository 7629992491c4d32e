"""The lab: policies tried on simulated jobs, side by side, with a report. `sluice lab`, no cluster needed.

    contenders    policies as they are named on the command line
    plants        simulated jobs, as they are named there
    loads         traces by name, and from files
    cases         one run: what is tried, and what came of it
    running       many of them, on all processors, with progress
    results       what is kept of them: JSON, and averages over seeds
    verdicts      who is better than whom, and what has changed since a former result
    table         the same for the terminal, and in Markdown
    plots, report the same as one HTML file with pictures
    commands      the command line
    fitting       a simulated job with the capacity of a real one
    backtesting   the command that tries policies on a job's own history
    explaining    the command that makes a stored decision again

What happens in a run is for `sluice.core.simulation`.
"""
