"""`sluice report`: what the operator did for a job over a time, as one file.

    command     the command line
    gathering   ask the cluster and Prometheus
    asking      the questions, and over which slices of time
    declared    what the job's owner promises, in seconds
    curves      the answers: numbers over time, with gaps
    happenings  recoveries, rescales and profiles, from the status, the decisions and counters
    course      all of that together: what is reported
    figures     what it comes to, in a few numbers
    picture     all of it as an SVG: head, lanes of marks (marks) and curves (panels) over one time axis (frame)
    page        the picture with tables, as HTML
    phrases     times and causes in words
    svg         colours, and parts of an SVG
    writing     a whole file, or none

All but command, gathering and writing are pure.
"""
