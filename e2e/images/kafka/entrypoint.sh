#!/bin/bash
# Formats the storage once, then becomes the broker, which clients reach as $ADVERTISED_HOST:9092.
set -eu

run=(java "-Xmx$KAFKA_HEAP" -Dlog4j.configuration=file:/opt/kafka/log4j.properties -cp "/opt/kafka/lib/*")
properties=/opt/kafka/server.properties

"${run[@]}" kafka.tools.StorageTool format --ignore-formatted -t Y9-pdLSqR0691q3rmPRZPg -c $properties
exec "${run[@]}" kafka.Kafka $properties \
  --override "advertised.listeners=PLAINTEXT://$ADVERTISED_HOST:9092"
