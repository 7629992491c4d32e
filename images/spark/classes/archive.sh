#!/bin/bash
# Make the archive of the classes that Spark's JVMs load at first (class data sharing), and the jar that stands for all
# jars of Spark: an archive is of use only to a class path that begins as its own, and `jars/*` has no order.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
result=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$result"
python3 "$here/pathing.py" "$SPARK_HOME/jars" "$result/spark.jar"

tell() { "$@" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }
SPARK_LOCAL_IP=127.0.0.1 TMPDIR=$work tell python3 "$here/working.py" "$work/driver" "$work/executor"
cat "$work/driver" "$work/executor" | awk '!seen[$0]++' > "$work/classes"
tell java -Xshare:dump "-XX:SharedClassListFile=$work/classes" "-XX:SharedArchiveFile=$result/spark.jsa" \
  -cp "$result/spark.jar"
chmod 644 "$result"/*
