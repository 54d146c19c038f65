# SPDX-License-Identifier: BSD-2-Clause
# In Linux the core's library hashes (/in/core-library).
# shellcheck disable=SC2034 # read by programs-app.sh
linux_flags=-Wl,--gc-sections
# shellcheck disable=SC2034
linux_libraries="optee-libraries/entropy.c inputs/drbg.c inputs/inputs.c $core_library"
