# SPDX-License-Identifier: BSD-2-Clause
# A kernel of the user's own as Debian packages (linux-image.deb, linux-image-2.deb ...): its image, and the MODULES that
# the machine loads, in their order. `modules` lists these and all that they need, each after those that it needs; what
# the machine does not load of itself is in `more.tar` too, which is empty otherwise. OUTPUTS are the modules' own files.
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

mkdir package more
for deb in /in/linux-image*.deb; do dpkg-deb -x "$deb" package || fail "dpkg-deb cannot unpack it"; done
shopt -s nullglob
images=(package/boot/vmlinu[xz]-*)
# Since 7.2, Debian's kernel is with its modules' folder, in a package of its own.
[[ ${#images[@]} != 0 ]] || images=(package/{usr/,}lib/modules/*/vmlinuz)
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
: > /out/modules
# The module in a file, after those that it needs.
take() { # FILE FOLDER
	local name=${1##*/} wants other
	local -a needed
	name=${name%%.ko*}
	content "$1" > "$2/$name.ko"
	wants=$(tr '\0' '\n' < "$2/$name.ko" | sed -n 's/^depends=//p')
	here="$here ${name//-/_}"
	for other in ${wants//,/ }; do
		other=${other//-/_}
		[[ " $here " != *" $other "* ]] || continue
		mapfile -t needed < <(find package -name "${other//_/[-_]}.ko*" -type f)
		[[ ${#needed[@]} == 1 ]] ||
			fail "its module $name needs the module $other, which the package does not have: configure that as =y"
		take "${needed[0]}" more
	done
	echo "$name" >> /out/modules
}
for module in $MODULES; do
	name=${module##*/}
	[[ " $here " != *" ${name//-/_} "* ]] || continue
	found=(package/{usr/,}lib/modules/*/kernel/"$module".ko{,.xz,.gz,.zst})
	if [[ ${#found[@]} == 0 ]]; then
		if grep -qsx "kernel/$module.ko" package/{usr/,}lib/modules/*/modules.builtin /dev/null; then
			fail "the kernel has $module built in, and the machine loads it as a module: configure it as =m"
		fi
		if [[ $module == */arm_ffa/* ]]; then
			fail "the kernel has no module $module.ko, without which Linux finds no SPMC; one with CONFIG_ARM_FFA_TRANSPORT=m has it, such as Debian's of 7.2"
		fi
		fail "the kernel has no module $module.ko; one with CONFIG_TEE=m and CONFIG_OPTEE=m has OP-TEE's driver, such as Debian's linux-image-...-cloud-arm64"
	fi
	case " $OUTPUTS " in
		*" $name.ko "*) take "${found[0]}" /out ;;
		*) take "${found[0]}" more ;;
	esac
done
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf /out/more.tar -C more .
