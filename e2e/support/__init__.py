"""What the end-to-end tests share: the cluster's API, an installed operator, Kafka, and load."""
