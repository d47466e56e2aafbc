#!/bin/sh
# Has this process be the first one of a node: in a tree, with mounts of its own. Run in new namespaces.
# usage: node.sh TREE BIN NAME
set -e
cd "$1"
mount --bind . .
cd "$1"
mount -t proc proc proc
mount -t sysfs sys sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs run run
mount -t tmpfs shm dev/shm
mount --bind "$2" opt/bin
# What a kubelet wants to set of the kernel shows as set, and stays as it is.
while read -r path value; do
  echo "$value" >"run/${path##*/}"
  mount --bind "run/${path##*/}" "proc/sys/$path"
done <<V
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
V
pivot_root . old
cd /
umount -l /old
mount --make-rshared /
hostname "$3"
exec /opt/bin/pause
