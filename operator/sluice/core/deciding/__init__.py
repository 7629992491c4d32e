"""How many executors a job should have, decided from facts alone: the same situation gives the same decision.

    situation   all that a decision is made from
    decision    what is wanted, why, and what is expected of it
    judging     what a rescale did, held against what was expected
    undoing     what follows from one that did harm

Nothing here has a clock, a memory of its own or chance: the operator, the lab, the back-test and `sluice explain` run
the same functions.
"""
