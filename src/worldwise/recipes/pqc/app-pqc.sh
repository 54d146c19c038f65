# SPDX-License-Identifier: BSD-2-Clause
# SCHEME is the scheme's number in guest/pqc-adapters/pqc.h; PLAN says what of the library is compiled into the TA, in
# JSON: see pqc-tee.py beside this file, which does it. The client needs no library: it calls the TA.
strict+=" -DPQC_SCHEME=$SCHEME -DOPS_CURVE=0"
mkdir ta-objects linux-objects
say "the library, for the TA"
python3 /in/recipes/pqc-tee.py
ta_settings+=("SCHEME=$SCHEME" "LDADD=/build/ta-objects/library.o")
