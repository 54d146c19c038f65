# SPDX-License-Identifier: BSD-2-Clause
# An initramfs with the modules for a network card: the kernel unpacks a second archive over the first.
. /in/recipes/common.sh

mkdir -p root/etc root/modules
cd root
cp /in/linux-net/*.ko modules/
# In the order in which they need each other, after those of the first archive.
printf '/modules/%s.ko\n' tee optee failover net_failover virtio_net > etc/modules
chmod -R u=rwX,go=rX .
find . -exec touch --no-dereference --date=@0 {} +
find . | LC_ALL=C sort | cpio --quiet --reproducible --create --format=newc --owner=0:0 > ../net.cpio
cat /in/initramfs/initramfs.cpio ../net.cpio > /out/initramfs.cpio
