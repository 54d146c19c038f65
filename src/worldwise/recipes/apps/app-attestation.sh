# SPDX-License-Identifier: BSD-2-Clause
# With PLAN, in JSON, a library is compiled into the TA and into the Linux program; CURVE is its curve's number in
# guest/adapters/ops.h. Without it OP-TEE's core works, and in Linux the core's library (/in/core-library).
# shellcheck disable=SC2034 # read by programs-app.sh
linux_flags="apps/attestation/scenario.c -Wl,--gc-sections"
if [[ -n ${PLAN:-} ]]; then
	mkdir ta-objects linux-objects
	say "the library, for the TA and for Linux"
	python3 /in/recipes/app-attestation.py
	ta_settings+=("ENGINE=portable" "CURVE=$CURVE" "LDADD=$(echo /build/ta-objects/*.o)")
	linux_flags="$linux_flags -DOPS_CURVE=$CURVE linux/draw.c"
	linux_libraries=$(echo /build/linux-objects/*.o)
else
	ta_settings+=("ENGINE=gp")
	linux_libraries="optee-libraries/entropy.c inputs/drbg.c inputs/inputs.c $core_library"
fi
