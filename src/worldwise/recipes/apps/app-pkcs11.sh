# SPDX-License-Identifier: BSD-2-Clause
# OP-TEE's PKCS#11 TA, of OP-TEE's own source (/in/source), and Debian's libckteec for the client. The TA is compiled as it is: the
# linker alone knows of its regions.
mkdir theirs
tar -xf /in/source/source.tar -C theirs ./ta/pkcs11
mv theirs/ta/pkcs11 guest/apps/pkcs11/ta/theirs
(
	cd guest/apps/pkcs11/ta/theirs
	sed -n 's/^\(CFG_PKCS11_[A-Z0-9_]* *\)?=/\1:=/p' sub.mk >settings.mk
	[[ -s settings.mk ]]
)
# shellcheck disable=SC2034 # for the recipe that reads this
ta_settings+=("LDADD=--wrap=TA_InvokeCommandEntryPoint")
dpkg-deb -x /in/libckteec.deb sysroot
# A copy of its own for the measured process, as of its other libraries.
mkdir -p /out/root/lib/measured
cp -L sysroot/usr/lib/aarch64-linux-gnu/libckteec.so.0 /out/root/lib/measured/
own() {
	local more=
	[[ " $* " != *' apps/pkcs11/client.c '* ]] || more=../sysroot/usr/lib/aarch64-linux-gnu/libckteec.so.0
	# shellcheck disable=SC2086 # a word or none
	aarch64-linux-gnu-gcc $strict -O2 "$@" $more
}
