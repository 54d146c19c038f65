# SPDX-License-Identifier: BSD-2-Clause
# The plain file's program has the cases in common with the client; no library is linked with it.
linux_flags="-DIMPLEMENTATION=\"$IMPLEMENTATION\" apps/storage/access.c"
