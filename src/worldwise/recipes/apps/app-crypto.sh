# SPDX-License-Identifier: BSD-2-Clause
# CURVE is its number in guest/adapters/ops_curve.h, FRAME the definitions that say which operations there are. With
# PLAN, in JSON, a library is compiled into the TA and into the Linux program; without it OP-TEE's core works, and there is no
# Linux program: the apps attestation and sha256 have what the core's libraries do there.
ta_settings+=("CURVE=$CURVE" "FRAME=$FRAME")
if [[ -n ${PLAN:-} ]]; then
	mkdir ta-objects linux-objects
	say "the library, for the TA and for Linux"
	python3 /in/recipes/app-crypto.py
	ta_settings+=("ENGINE=portable" "LDADD=$(echo /build/ta-objects/*.o)")
	linux_flags="-DOPS_CURVE=$CURVE $FRAME apps/crypto/scenario.c linux/draw.c"
	linux_libraries="-Wl,--gc-sections $(echo /build/linux-objects/*.o)"
else
	ta_settings+=("ENGINE=gp")
	rm -r guest/apps/crypto/linux
	# The dev kit puts an object where its source is.
	cp guest/operations/known.c guest/apps/crypto/ta/
fi
