# SPDX-License-Identifier: BSD-2-Clause
# Server, tool, library and attempts of keycache/ for the measured machine, cross-compiled as its Debian packages are, and the
# shared libraries of theirs and of Redis's clients that the machine does not have anyway.
. /in/recipes/common.sh
. /in/recipes/keycache-build.sh

triplet=aarch64-linux-gnu
eval "$(dpkg-architecture -aarm64 -s)"
build_keycache MEASURING=y all attempts
for deb in /in/*.deb; do dpkg-deb -x "$deb" packages; done

mkdir -p built/root/bin built/root/sbin built/root/lib
cp keycached built/root/sbin/
cp keycache keycache-attempts packages/usr/bin/redis-cli built/root/bin/
cp -L packages/usr/bin/redis-benchmark built/root/bin/
cp libkeycache.so.0 built/root/lib/
# Names stay, for those who look into the machine.
"$triplet-strip" --strip-debug built/root/sbin/keycached built/root/bin/keycache built/root/bin/keycache-attempts \
	built/root/lib/libkeycache.so.0

# The libraries of the machine's own (initramfs.sh).
own=' libc.so.6 ld-linux-aarch64.so.1 libcrypto.so.3 libteec.so.2 libz.so.1 libzstd.so.1 '
find_library() { # NAME
	local folder
	for folder in "packages/usr/lib/$triplet" "/usr/lib/$triplet"; do
		if [[ -e $folder/$1 ]]; then
			echo "$folder/$1"
			return
		fi
	done
	echo "$1 is in no package of lab/keycache.toml for arm64" >&2
	return 1
}
needed() { "$triplet-readelf" --dynamic --wide "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort -u; }
more=(built/root/*bin/* built/root/lib/*)
while ((${#more[@]})); do
	names=$(needed "${more[@]}")
	more=()
	for name in $names; do
		[[ $own != *" $name "* && ! -e built/root/lib/$name ]] || continue
		file=$(find_library "$name")
		cp -L "$file" built/root/lib/
		more+=("built/root/lib/$name")
	done
done

# For programs that are linked with the library.
mkdir -p built/dev/include/openssl built/dev/include/hiredis built/dev/lib
cp /in/keycache/client/keycache.h built/dev/include/
cp -r /usr/include/openssl/. "/usr/include/$triplet/openssl/." built/dev/include/openssl/
cp -r /usr/include/hiredis/. built/dev/include/hiredis/
cp libkeycache.a built/dev/lib/
for name in libhiredis libssl libcrypto; do
	file=$(readlink -f "/usr/lib/$triplet/$name.so")
	# Twice and not by a link: only regular files are taken out of a build.
	cp "$file" built/dev/lib/
	cp "$file" "built/dev/lib/$name.so"
done
for name in libz.so.1 libzstd.so.1; do cp -L "/usr/lib/$triplet/$name" built/dev/lib/; done
chmod -R u=rwX,go=rX built
cp -r built /out/
