"""What the load will be: rows per second over the minutes to come, and how far off that may be. Arithmetic only.

    cleaning          samples as they come -> equal steps (`sampling` makes them coarser)
    last_value, local_trend, smoothing, arima, seasonal_naive, fourier      one model each, behind `model`
    events            what the owner announces, such as a sale at 20:00
    rolling_origin    how wrong a model would have been
    guards            what no forecast may do
    selection         which model to trust: costly, each half hour; a value that is stored
    drift             whether that model has failed since
    prediction        the forecast itself: cheap, for each decision

`prediction.forecast` does both at once. Nothing here is random, and nothing waits: what takes long is bounded by the
sizes of its inputs, which `cleaning` and the models cut.
"""
