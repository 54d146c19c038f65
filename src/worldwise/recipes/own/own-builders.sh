# SPDX-License-Identifier: BSD-2-Clause
# For builds of a user's own code that have CMake or Meson: both, from /in/builders.tar, for the compilers of CROSS_COMPILE.
# The folders that are named have headers and libraries for the measured machine, in include/ and lib/.

TOOLCHAIN=/build/toolchain.cmake CROSS=$HOME/.local/share/meson/cross/worldwise

add_build_systems() { # [FOLDER...]
	local library processor=aarch64 system=Linux machine=linux
	[[ $CROSS_COMPILE != arm-none-eabi- ]] || processor=arm system=Generic machine=none
	tar -xf /in/builders.tar -C /build
	# What the lab has too is the lab's: its compilers must not get another.
	for library in /build/builders/lib/*; do
		[[ -z $(find /lib/*-linux-gnu /usr/lib/*-linux-gnu -maxdepth 1 -name "${library##*/}" -print -quit) ]] ||
			rm "$library"
	done
	mkdir -p /build/builders/path "${CROSS%/*}"
	printf '#!/bin/bash\nLD_LIBRARY_PATH=/build/builders/lib exec /build/builders/bin/%s "$@"\n' cmake >/build/builders/path/cmake
	printf '#!/bin/bash\nexec python3 /build/builders/meson/meson.py "$@"\n' >/build/builders/path/meson
	chmod +x /build/builders/path/*
	cp /build/builders/bin/ninja /build/builders/path/
	export PATH=/build/builders/path:$PATH CMAKE_TOOLCHAIN_FILE=$TOOLCHAIN PYTHONDONTWRITEBYTECODE=1
	{
		echo "set(CMAKE_SYSTEM_NAME $system)"
		echo "set(CMAKE_SYSTEM_PROCESSOR $processor)"
		echo "set(CMAKE_C_COMPILER ${CROSS_COMPILE}gcc)"
		if command -v "${CROSS_COMPILE}g++" >/dev/null; then
			echo "set(CMAKE_CXX_COMPILER ${CROSS_COMPILE}g++)"
		else
			# A project that names no language has C++ too, and may have no source of it.
			echo "set(CMAKE_CXX_COMPILER ${CROSS_COMPILE}gcc)"
			echo "set(CMAKE_CXX_COMPILER_FORCED TRUE)"
		fi
		echo "set(CMAKE_ASM_COMPILER ${CROSS_COMPILE}gcc)"
		# The program that CMake links to try the compiler needs a start-up that firmware has of its own.
		[[ $system == Linux ]] || echo "set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)"
		echo "set(CMAKE_FIND_ROOT_PATH $* /usr/${CROSS_COMPILE%-})"
		echo "set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)"
		for what in LIBRARY INCLUDE PACKAGE; do echo "set(CMAKE_FIND_ROOT_PATH_MODE_$what ONLY)"; done
		for folder in "$@"; do
			echo "list(APPEND CMAKE_C_STANDARD_INCLUDE_DIRECTORIES $folder/include)"
			echo "list(APPEND CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES $folder/include)"
			echo "string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT \" -L$folder/lib\")"
			echo "string(APPEND CMAKE_SHARED_LINKER_FLAGS_INIT \" -L$folder/lib\")"
		done
		# Projects install into the folders of GNUInstallDirs, without including it.
		echo 'set(CMAKE_INSTALL_BINDIR bin CACHE STRING "")'
		echo 'set(CMAKE_INSTALL_LIBDIR lib CACHE STRING "")'
	} >"$TOOLCHAIN"
	{
		printf '[binaries]\n'
		for tool in c=gcc cpp=g++ ar=ar strip=strip; do printf "%s = '%s%s'\n" "${tool%=*}" "$CROSS_COMPILE" "${tool#*=}"; done
		printf "pkg-config = 'pkg-config'\n[host_machine]\nsystem = '%s'\ncpu_family = '%s'\ncpu = '%s'\nendian = 'little'\n" \
			"$machine" "$processor" "$processor"
		[[ $system == Linux ]] || printf "[properties]\nskip_sanity_check = true\n"
		if [[ $# != 0 ]]; then
			printf '[built-in options]\n'
			for language in c cpp; do
				printf "%s_args = [%s]\n" "$language" "$(printf "'-isystem', '%s/include', " "$@")"
				printf "%s_link_args = [%s]\n" "$language" "$(printf "'-L%s/lib', " "$@")"
			done
		fi
	} >"$CROSS"
}
