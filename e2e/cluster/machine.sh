# The first process of a machine: furnishes its namespaces, then stays to reap orphans.
#
# Given: NAME, ADDRESS (with prefix length), DIRECTORY (the machine's own), VOLUMES, ROUTES (one a line).
# The order of the mounts matters: sharing them before the cgroups are put back would unmount those.
set -e
mount --make-rprivate /

# A new network namespace needs a new /sys, which then lacks the control groups.
aside=$(mktemp -d)
mount --rbind /sys/fs/cgroup "$aside"
mount -t sysfs sysfs /sys
mount --rbind "$aside" /sys/fs/cgroup
umount -l "$aside"
rmdir "$aside"

# Sockets, network namespaces of pods and address leases are private, and end with the machine.
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock /var/lib/cni /var/lib/kubelet /tmp/hostpath_pv
mount -t tmpfs tmpfs /var/lib/cni
# Sockets of device plugins are made here, whatever --root-dir says.
mount -t tmpfs tmpfs /var/lib/kubelet
mount --bind "$DIRECTORY/log" /var/log
# The provisioner's directory is fixed; all machines share it, so volumes can be used from each.
mount --bind "$VOLUMES" /tmp/hostpath_pv
hostname "$NAME"
# The kubelet mounts volumes that containers must see.
mount --make-rshared /

until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
ip link set lo up
ip address add "$ADDRESS" dev eth0
ip link set eth0 up
sysctl -qw net.ipv4.ip_forward=1
# Services must be seen between two pods of one bridge too.
sysctl -qw net.bridge.bridge-nf-call-iptables=1
echo "$ROUTES" | while read -r route; do ip route add $route; done

touch "$DIRECTORY/ready"
while :; do sleep 3600 & wait $!; done
