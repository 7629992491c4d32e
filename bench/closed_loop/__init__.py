"""The loop closed on a real cluster: four ways to scale one job, under the same load and the same failures.

    scene          what all go through: the job's size, the load, the failures, the promises
    contenders     who they are, and what they are applied as
    courses        what a run looks like over time: counters of drivers, executors
    measurements   all that is kept of a run, as data and back
    figures        from a course to what is told of it: time above the bound, recoveries, price
    fitting        from batches to a capacity and an overhead
    calibrating    from measurements to the plant that the lab simulates
    usage          what executors take of the CPU: at rest, for rows, while they are new
    simulating     the same run in the lab, as a course
    page           the table: measured, simulated, and their difference
    keeping        the file of all that, and its page; runs of another scene are refused
    stage          what a run needs in the cluster
    running        one run, from its history of rows to its account
    loading        its load: failures at their moments, and a look each minute
    gathering      what Prometheus and the metrics API have of it
    pacing         each minute: what goes on, and for how long yet

Down to `page` all is pure. Times are seconds since the load began; what was before is negative.
"""
