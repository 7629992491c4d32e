"""A Spark job that exists in numbers only, driven by the decisions that real jobs get, and judged.

    trace       rows per second over time: shapes with noise from a seed
    samples     the same from what was measured elsewhere
    suites      the traces by name: those for tuning, and those for reporting
    plant       what a job is like: capacity, overheads, delays, outages
    executors   where batches run: pending, starting, cold, paid for
    job         the job as it runs: batches, failures, rescales
    metrics     what can be seen of it, which is less than the truth
    cohorts     which rows were committed when: exact latencies
    profiling   models from runs before production, and their price
    truth       what is true of a plant, for those who may know it
    oracle      the policy that knows the future
    loop        a run: job, metrics, learning, decision, and again
    score       what a run was worth

Time is in seconds from the start of a run. Chance comes from seeds: the same run gives the same result.
"""
