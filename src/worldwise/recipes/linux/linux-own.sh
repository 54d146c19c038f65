# SPDX-License-Identifier: BSD-2-Clause
# A kernel of the user's own as a Debian package: its image, and the MODULES that the machine loads, in their order.
# A line that begins with "worldwise: " is what the user is told.
. /in/recipes/common.sh

fail() {
	echo "worldwise: linux.package: $*"
	exit 1
}

# What a file that may be compressed contains.
content() { # FILE
	case $1 in
		*.xz) xz -dc "$1" ;;
		*.gz) gzip -dc "$1" ;;
		*.zst) zstd -dcq "$1" ;;
		*) cat "$1" ;;
	esac
}

mkdir package
dpkg-deb -x /in/linux-image.deb package || fail "dpkg-deb cannot unpack it"
shopt -s nullglob
images=(package/boot/vmlinu[xz]-*)
[[ ${#images[@]} == 1 ]] ||
	fail "it has ${#images[@]} files boot/vmlinuz-*, and a kernel's package has one; Debian's linux-image-cloud-arm64 only names the package that has it"
image=${images[0]}
if [[ $(head -c 2 "$image" | od -An -tx1) == " 1f 8b" ]]; then
	mv "$image" image.gz
	gzip -d image.gz
	image=image
fi
[[ $(tail -c +57 "$image" | head -c 4 | tr -d '\0') == ARMd ]] ||
	fail "${images[0]#package/} is no image of an arm64 kernel (\`Image\`, or that packed by gzip)"
cp "$image" /out/Image

here=
for module in $MODULES; do
	name=${module##*/}
	found=(package/{usr/,}lib/modules/*/kernel/"$module".ko{,.xz,.gz,.zst})
	if [[ ${#found[@]} == 0 ]]; then
		if grep -qsx "kernel/$module.ko" package/{usr/,}lib/modules/*/modules.builtin /dev/null; then
			fail "the kernel has $module built in, and the machine loads it as a module: configure it as =m"
		fi
		fail "the kernel has no module $module.ko; one with CONFIG_TEE=m and CONFIG_OPTEE=m has OP-TEE's driver, such as Debian's linux-image-...-cloud-arm64"
	fi
	content "${found[0]}" > "/out/$name.ko"
	wants=$(tr '\0' '\n' < "/out/$name.ko" | sed -n 's/^depends=//p')
	wants=${wants//-/_}
	for other in ${wants//,/ }; do
		[[ " $here " == *" $other "* ]] ||
			fail "its module $name needs the module $other, which the machine does not load: configure that as =y"
	done
	here="$here $name"
done
