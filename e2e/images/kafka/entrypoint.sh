#!/bin/bash
# Formats the storage once, then becomes the broker, which clients reach as $ADVERTISED_HOST:9092.
set -eu

# Java that compiles less: a broker that lives for minutes never earns back what more would take from its neighbours.
run=(java "-Xmx$KAFKA_HEAP" -XX:TieredStopAtLevel=1 -Dlog4j.configuration=file:/opt/kafka/log4j.properties -cp "/opt/kafka/lib/*")
properties=/opt/kafka/server.properties

"${run[@]}" kafka.tools.StorageTool format --ignore-formatted -t Y9-pdLSqR0691q3rmPRZPg -c $properties
exec "${run[@]}" kafka.Kafka $properties \
  --override "advertised.listeners=PLAINTEXT://$ADVERTISED_HOST:9092"
