"""Service level objectives: indicators, attainment, error budget, burn rates. Arithmetic only."""
