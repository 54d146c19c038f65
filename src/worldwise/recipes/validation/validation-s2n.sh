# SPDX-License-Identifier: BSD-2-Clause
# X25519 of s2n-bignum, which is assembly alone.
. /in/recipes/common.sh

# Its header asks for one that a build of the whole library makes, of names with a prefix: here is none.
mkdir -p include/openssl
: >include/openssl/boringssl_prefix_symbols_asm.h
cd /in/s2n
for name in curve25519_x25519{,base}_byte{,_alt}; do
	"$GCC" -I include -I /build/include -c -o "/build/$name.o" "arm/curve25519/$name.S"
done
aarch64-linux-gnu-ar rcs /out/library.a /build/*.o
