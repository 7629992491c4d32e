"""What a running job teaches: the models of its batches and outages, and the situation that it is in.

    batches       what is told of a finished batch
    scrapes       what is seen of a job at a moment
    overheads     what batches of different sizes have in common
    experience    models, updated by batches, latencies and outages
    effects       the rescale whose effect is awaited, and those that did harm
    watching      scrapes and decisions of a job over time, as the situation that the next decision is made from

The operator feeds it from agents, the lab from a plant.
"""
