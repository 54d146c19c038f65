# SPDX-License-Identifier: BSD-2-Clause
# The fuzz target of keycache/, with the sanitizers.
. /in/recipes/common.sh

make -C /in/keycache O="$PWD" "$PWD/fuzz_requests"
cp fuzz_requests /out/
