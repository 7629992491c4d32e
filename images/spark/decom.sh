#!/bin/bash
# The preStop hook that Spark puts into executor pods: SIGPWR tells the executor to decommission itself, and the pod
# lives until the JVM has moved its blocks and ended. The kubelet's grace period bounds the wait.
set -eu

for process in /proc/[0-9]*; do
  if [[ $(cat "$process/comm" 2>/dev/null) == java ]]; then
    kill -s PWR "${process#/proc/}"
    exec tail --pid="${process#/proc/}" -f /dev/null
  fi
done
