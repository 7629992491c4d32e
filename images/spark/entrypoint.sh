#!/bin/bash
# The command of a driver passes through; `executor` starts what Spark's own images start under that name, because
# pip's pyspark brings no entrypoint. tini reaps and hands signals on, also when it is not process 1.
set -eu

if [[ ${1:-} != executor ]]; then
  exec tini -s -- "$@"
fi

# Options may hold spaces and newlines, hence the NUL-separated environment; -n because 10 comes after 9.
readarray -d '' -t java_options < <(
  env -0 | grep -z '^SPARK_JAVA_OPT_' | sort -z -t _ -k 4 -n | sed -z 's/^[^=]*=//'
)
classpath="${SPARK_CONF_DIR:-/opt/spark/conf}:${SPARK_EXTRA_CLASSPATH:+$SPARK_EXTRA_CLASSPATH:}$SPARK_HOME/jars/*"

exec tini -s -- "${JAVA_HOME:+$JAVA_HOME/bin/}java" "${java_options[@]}" \
  "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" -cp "$classpath" \
  org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
  --driver-url "$SPARK_DRIVER_URL" \
  --executor-id "$SPARK_EXECUTOR_ID" \
  --cores "$SPARK_EXECUTOR_CORES" \
  --app-id "$SPARK_APPLICATION_ID" \
  --hostname "$SPARK_EXECUTOR_POD_IP" \
  --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
  --podName "$SPARK_EXECUTOR_POD_NAME"
