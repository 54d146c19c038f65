# SPDX-License-Identifier: BSD-2-Clause
# Compiles targets of keycache/Makefile in the current folder, with Debian's flags for the architecture that
# dpkg-architecture has set, as keycache/debian/rules does.
build_keycache() { # TARGETS...
	local flags
	flags() { DEB_BUILD_MAINT_OPTIONS=hardening=+all dpkg-buildflags --get "$1"; }
	make -C /in/keycache O="$PWD" CC="$DEB_HOST_GNU_TYPE-gcc" AR="$DEB_HOST_GNU_TYPE-ar" CFLAGS="$(flags CFLAGS)" \
		LDFLAGS="$(flags LDFLAGS)" CPPFLAGS="$(flags CPPFLAGS)" HARDENING=-fPIE LINK_HARDENING=-pie "$@"
}
