# SPDX-License-Identifier: BSD-2-Clause
# OpenSSL with a key in OP-TEE's PKCS#11 TA: that TA and libckteec as the app pkcs11 has them, Debian's OpenSSL and provider.
. /in/recipes/app-pkcs11.sh
cp -r guest/apps/pkcs11/ta guest/apps/pkcs11/measured "guest/apps/$APP/"
for package in libssl3t64 libssl-dev libzstd1 zlib1g pkcs11-provider; do dpkg-deb -x "/in/$package.deb" sysroot; done
libraries=sysroot/usr/lib/aarch64-linux-gnu
for library in libcrypto.so.3 libssl.so.3 libz.so.1 libzstd.so.1 ossl-modules/pkcs11.so; do
	cp -L "$libraries/$library" /out/root/lib/measured/
done
aarch64-linux-gnu-gcc $strict -O2 -fPIC -shared -Wl,-soname,libcounted.so -Isysroot/usr/include \
	-o /out/root/lib/measured/libcounted.so "guest/apps/$APP/counted/counted.c"

# What a user writes into openssl.cnf, MODULE being his library.
configuration() { # MODULE
	printf '%s\n' 'openssl_conf = ours' '[ours]' 'providers = providers' '[providers]' 'default = own_part' \
		'pkcs11 = token_part' '[own_part]' 'activate = 1' '[token_part]' 'module = /lib/measured/pkcs11.so' \
		"pkcs11-module-path = /lib/measured/$1" 'pkcs11-module-token-pin = 87654321' 'activate = 1'
}
mkdir -p /out/root/etc
configuration libckteec.so.0 >/out/root/etc/pkcs11.cnf
configuration libcounted.so >/out/root/etc/counted.cnf

own() {
	local more=
	if [[ " $* " == *" apps/$APP/client.c "* ]]; then
		more="apps/pkcs11/token.c apps/pkcs11/ckr.c -I../sysroot/usr/include/aarch64-linux-gnu"
		more+=" /out/root/lib/measured/libcounted.so ../$libraries/libckteec.so.0 ../$libraries/libssl.so.3"
		more+=" ../$libraries/libcrypto.so.3 -Wl,-rpath-link,../$libraries"
	fi
	# shellcheck disable=SC2086 # words, or none
	aarch64-linux-gnu-gcc $strict -O2 "$@" $more
}
