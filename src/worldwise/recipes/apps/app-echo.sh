# SPDX-License-Identifier: BSD-2-Clause
# The echo servers: what they and their clients share is compiled into both programs.
# shellcheck disable=SC2034 # read by programs-app.sh
linux_flags="-DIMPLEMENTATION=\"$IMPLEMENTATION\""
# shellcheck disable=SC2034
linux_libraries=apps/echo/net.c
