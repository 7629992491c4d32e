"""Demo jobs in plain PySpark, a load generator and a checker; they know nothing of Sluice."""
