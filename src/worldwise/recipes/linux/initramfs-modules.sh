# SPDX-License-Identifier: BSD-2-Clause
# An initramfs with the modules that a kernel of the user's own has beside those that the machine loads of itself: the
# kernel unpacks a second archive over the first. linux-net has those of a network card, if the machine has one.
. /in/recipes/common.sh

mkdir -p root/etc root/modules
cd root
lists=
for kernel in /in/linux /in/linux-net; do
	[[ -e $kernel ]] || continue
	tar -xf $kernel/more.tar -C modules
	lists="$lists $kernel/modules"
done
shopt -s nullglob
more=(modules/*.ko)
if [[ ${#more[@]} == 0 ]]; then
	cp /in/initramfs/initramfs.cpio /out/
	exit
fi
# shellcheck disable=SC2086 # a list of files
sed 's,.*,/modules/&.ko,' $lists > etc/modules
chmod -R u=rwX,go=rX .
find . -exec touch --no-dereference --date=@0 {} +
find . | LC_ALL=C sort | cpio --quiet --reproducible --create --format=newc --owner=0:0 > ../more.cpio
cat /in/initramfs/initramfs.cpio ../more.cpio > /out/initramfs.cpio
