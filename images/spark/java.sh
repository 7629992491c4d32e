#!/bin/bash
# The `java` of Spark's scripts: its JVMs map an archive of classes (class data sharing), which takes a class path that
# begins as the archive's own. So the jar that stands for Spark's jars goes in front of the folder of the settings. What
# a user puts in front of Spark's classes stays there: then they are read as ever.
set -eu

java=/usr/bin/java
classes=/opt/spark/classes
settings=${SPARK_CONF_DIR:-/opt/spark/conf}
jars=$SPARK_HOME/jars/

for ((at = 1; at < $#; at++)); do
  [[ ${!at} == -cp ]] || continue
  value=$((at + 1))
  path=${!value}
  if [[ $path == "$jars"* || $path == "${settings%/}:$jars"* || $path == "${settings%/}/:$jars"* ]]; then
    exec "$java" "-XX:SharedArchiveFile=$classes/spark.jsa" \
      "${@:1:at}" "$classes/spark.jar:$path" "${@:at+2}"
  fi
  break
done
exec "$java" "$@"
