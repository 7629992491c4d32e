"""Measuring copies of a job at several numbers of executors, beside production: what to measure, and when to end.

records     what is declared, remembered and seen of a profile
planning    which numbers of executors tell most about the capacity
measuring   rows per second from the batches of a copy, and how certain they are
mirroring   the latency of a copy that reads the live stream, and whether it keeps up
steering    the rows of a copy's batches, so that their sizes tell the overhead from the rows
budget      what copies cost, and what may still be started
keys        which measurements are of the same program on the same executors
needing     which numbers of executors a job should be measured at, because nothing valid is known of them
wanting     whether a profile begins by itself, and otherwise why not
usage       what the job itself takes, of which its profiles may take a share
automatic   names and labels of profiles that begin by themselves
teaching    what the models of a job learn from what was measured
stepping    the profile's life: which copies to make and to end, and how it ends
"""
