"""What a job can do and what an outage costs it, learned from profiles and from production. Arithmetic only.

    load        rows per second over the seconds to come
    recovery    the seconds from a failure until the job has caught up, or why it never will
    capacity    the rows per second that so many executors can process, and which numbers are worth having
    latency     the latency at a utilisation, and from where on it means overload
    downtime    the seconds without a batch, by their cause
    rescaling   what a rescale costs, live or by a restart
    accuracy    how far predicted recoveries were from the measured ones

All are values: `with_observation` gives a new one, an `Estimate` says how sure it is, and what is learned goes to
versioned plain data and back (`to_data`, `from_data`). What to do about it is decided elsewhere.
"""
