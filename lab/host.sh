# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# What ./worldwise and ./test share: have the host's packages, make the Python environment, set `python`.
# Sourced with `repository` set to the repository's whole path. Says nothing when nothing is to do.

say() {
	printf 'worldwise: %s\n' "$*" >&2
}

die() {
	say "$@"
	exit 1
}

# Nothing is executed or imported from the current folder, whatever lies in it: PATH keeps its absolute folders alone
# (an empty one means the current folder too), and Python's variables that name code are gone.
whole_path() {
	rest=$PATH: whole=''
	while [ -n "$rest" ]; do
		case $rest in /*) whole=$whole${whole:+:}${rest%%:*} ;; esac
		rest=${rest#*:}
	done
	export PATH="${whole:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
}
whole_path
unset PYTHONHOME PYTHONPATH PYTHONPLATLIBDIR PYTHONPYCACHEPREFIX PYTHONSTARTUP PYTHONUSERBASE PYTHONINSPECT \
	PYTHONBREAKPOINT PYTHONWARNINGS PYTHONEXECUTABLE

# Whether a Python is of at least 3.11 and can make environments; sets `host_python` (its whole path) and
# `python_version`. It runs in /, since a version manager's Python asks the current folder for a version.
take_python() {
	host_python=$(command -v "$1") || return 1
	case $host_python in /*) ;; *) host_python=$PWD/$host_python ;; esac
	python_version=$(cd / && "$host_python" -I -c '
import sys
from importlib.util import find_spec
if sys.version_info < (3, 11) or not find_spec("ensurepip"):
    sys.exit(1)
print(sys.version, sys.base_prefix)' 2>/dev/null)
}

# The Python that is used. WORLDWISE_PYTHON names one to try first.
find_python() {
	for candidate in ${WORLDWISE_PYTHON:-} python3 python3.13 python3.12 python3.11; do
		take_python "$candidate" && return 0
	done
	return 1
}

# The version of a Python as 3.11; fails if there is no Python behind the name, as behind many a version manager's.
minor_of() {
	(cd / && "$1" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])') 2>/dev/null
}

# Sets `others` to the Pythons from 3.11 on that this machine has, one a version, without `host_python`'s; says which
# cannot make environments.
find_other_pythons() {
	others='' seen=" $(minor_of "$host_python") " first=$host_python first_version=$python_version
	managed=''
	! have pyenv || managed=$(pyenv versions --bare 2>/dev/null | sed "s|.*|$(pyenv root)/versions/&/bin/python3|") || :
	for candidate in python3.11 python3.12 python3.13 python3.14 python3.15 $managed; do
		path=$(command -v "$candidate") && minor=$(minor_of "$path") || continue
		case $minor in 2.* | 3.? | 3.10) continue ;; esac
		case $seen in *" $minor "*) continue ;; esac
		if take_python "$path"; then
			others="$others $path" seen="$seen$minor "
		else
			say "Python $minor ($path) cannot make environments and is left out; Debian's package python$minor-venv lets it"
		fi
	done
	host_python=$first python_version=$first_version
}

# Adds "package" to `missing`, and why it is needed to `reasons`.
lacks() {
	missing="$missing $1"
	reasons="$reasons
  $1: $2"
}

have() {
	command -v "$1" >/dev/null 2>&1
}

find_missing() {
	missing='' reasons=''
	find_python || {
		have python3 || lacks python3 'worldwise is written in Python (3.11 or later)'
		lacks python3-venv "makes worldwise's own Python environment in the cache"
	}
	have mmdebstrap || lacks mmdebstrap 'makes the lab, a pinned Debian root in the cache'
	have bwrap || lacks bubblewrap 'enters the lab without root'
	have apt-get || lacks apt "fetches the lab's packages"
	have dpkg-deb || lacks dpkg "reads the lab's packages"
	ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
	"$ldconfig" -p 2>/dev/null | grep -q 'libseccomp\.so\.2' ||
		lacks libseccomp2 "filters the system calls of what runs in the lab"
	have flock || lacks util-linux 'keeps two set-ups from colliding'
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ||
		lacks debian-archive-keyring "checks the Debian archive's signatures"
	[ "$(id -u)" -eq 0 ] || have newuidmap || lacks uidmap 'lets an ordinary user make the lab'
}

# Sets `system` to what this system calls itself and what it is like; fails unless apt-get installs its packages.
know_system() {
	system=$(. /etc/os-release 2>/dev/null && echo "$ID ${ID_LIKE:-}") || system=unknown
	case " $system " in *' debian '* | *' ubuntu '*) ;; *) return 1 ;; esac
}

# Has apt-get, called as root by $as_root, install packages; its words are in `log` if it fails.
apt_install() {
	log=$(mktemp)
	# A source that cannot be reached may not matter: the installation decides.
	# shellcheck disable=SC2086 # words, on purpose
	# Descriptions in other languages are of no use here; those that are there stay.
	$as_root apt-get -qq -o Acquire::Languages=none -o APT::Get::List-Cleanup=false update >"$log" 2>&1 || :
	# shellcheck disable=SC2086
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends \
		install "$@" </dev/null >>"$log" 2>&1 && rm -f "$log"
}

# Installs `missing`, as root or through sudo.
install_missing() {
	by_hand="install these packages and start again:$missing"
	know_system || die "this system ($system) is neither Debian nor Ubuntu, so worldwise cannot install what it needs.
$by_hand
$reasons"
	have apt-get || die "this system has no apt-get; $by_hand"
	say "this machine lacks what worldwise stands on; installing with apt-get as root:$reasons"
	as_root=''
	if [ "$(id -u)" -ne 0 ]; then
		have sudo || die "root is needed for that, and there is no sudo. As root, $by_hand"
		as_root='sudo'
		if ! [ -t 0 ]; then
			as_root='sudo -n'
			sudo -n true 2>/dev/null || die "root is needed for that, and sudo would ask for a password. As root, $by_hand"
		fi
	fi
	# shellcheck disable=SC2086
	if ! apt_install $missing; then
		cat "$log" >&2
		rm -f "$log"
		die "apt-get failed (its words are above). As root, $by_hand"
	fi
	find_missing
	[ -z "$missing" ] || die "this is still missing, or too old here (worldwise needs Python 3.11 or later):$reasons"
}

# What some tests use; the tool itself does without.
find_missing_of_tests() {
	missing='' reasons=''
	have cc || have gcc || have clang || lacks gcc "compiles the parts of guest/ and plugin/ that are tested on the host"
	[ -e /usr/include/stdio.h ] || lacks libc6-dev 'has the headers for that'
	have llvm-mc-19 || lacks llvm-19 "says again what the models' tables of instructions say"
	have ssh || lacks openssh-client 'measures a host as --via ssh:// does'
	have npm || lacks npm 'fetches the viewer of profiles that flame graphs are opened in'
	have gpg || lacks gpg "signs the lists of the tests' own mirror"
	have gpg-agent || lacks gpg-agent 'keeps the key for that'
}

# Sets `as_root` if that needs no password.
become_root_silently() {
	as_root=''
	[ "$(id -u)" -eq 0 ] || { as_root='sudo -n' && have sudo && sudo -n true 2>/dev/null; }
}

# Installs that, once, and asks for no password. Where it cannot, the tests that use it are skipped.
install_missing_of_tests() {
	find_cache
	find_missing_of_tests
	[ -n "$missing" ] || return 0
	tried=$cache/tried-for-tests
	if [ "$(cat "$tried" 2>/dev/null)" = "$missing" ] || ! know_system || ! have apt-get || ! become_root_silently; then
		say "tests that use one of these are skipped; install them once as root:$missing"
		return
	fi
	say "some tests use what this machine lacks; installing with apt-get as root:$reasons"
	# shellcheck disable=SC2086
	apt_install $missing || for package in $missing; do
		# One that this system does not have is no reason to go without the others.
		rm -f "$log"
		apt_install "$package" || :
	done
	rm -f "$log"
	find_missing_of_tests
	[ -n "$missing" ] || return 0
	mkdir -p "$cache" 2>/dev/null && printf '%s\n' "$missing" 2>/dev/null >"$tried" || :
	say "apt-get could not install these, so tests that use one of them are skipped:$reasons"
}

# Sets `cache`.
find_cache() {
	cache=${WORLDWISE_CACHE:-${XDG_CACHE_HOME:-${HOME:?is not set, nor is WORLDWISE_CACHE}/.cache}/worldwise}
	case $cache in /*) ;; *) cache=$PWD/$cache ;; esac
}

# Sets `pip` to the one file of pip that came with this Python: it runs as it is. Fails if there is none. Debian keeps
# the file apart, and it serves Debian's own Python alone: an older pip does not run under a newer Python.
find_pip() {
	prefix=${python_version##* } number=${python_version%% *}
	set -- "$prefix/lib/python${number%.*}"/ensurepip/_bundled/pip-*.whl
	[ -f "$1" ] || [ "$prefix" != /usr ] || set -- /usr/share/python-wheels/pip-*.whl
	pip=$1
	[ -f "$pip" ]
}

# Runs the environment's Python with the words that start pip, and with what pip is to install.
install_with() {
	# Nothing is compiled to byte code beforehand: Python does so with what is imported, a tenth of it.
	"$python" -I "$@" --no-compile --quiet --disable-pip-version-check --no-input --only-binary :all: \
		--require-hashes </dev/null >&2
}

# Installs the packages of `first` by two pips, each with every other one: most of the time pip computes, on one
# processor. The file names all packages, so neither looks for what they depend on.
install_halves() {
	for half in 0 1; do
		awk -v half=$half '/==/ { number++ } number % 2 == half' "$first" >"$environment/half-$half.txt" || return 1
	done
	install_with "$pip/pip" install --no-deps -r "$environment/half-0.txt" &
	install_with "$pip/pip" install --no-deps -r "$environment/half-1.txt" || { wait; return 1; }
	wait $!
}

# Prints requirements/$1.txt, behind the file that its first line takes, if it takes one.
whole_requirements() {
	read -r word other <"$repository/requirements/$1.txt" || :
	[ "$word" != -r ] || whole_requirements "${other%.txt}"
	cat "$repository/requirements/$1.txt"
}

# Makes the environment of requirements/$1.txt unless it is there; sets `python`. That of a run begins with what its first
# screen needs; what draws is added when a command first draws (src/worldwise/report/drawing/library.py).
make_environment() {
	requirements=$repository/requirements/$1.txt first=$requirements
	[ "$1" != run ] || first=$repository/requirements/base.txt
	find_cache
	key=$({
		printf '%s\n' "$python_version"
		whole_requirements "$1"
	} | sha256sum | cut -c 1-12)
	environment=$cache/venv-$key
	python=$environment/bin/python
	# The marker is written last: without it the environment is half made.
	if [ -e "$environment/complete" ] && [ -x "$python" ]; then
		leave_notes "$1"
		return
	fi
	mkdir -p "$cache" || die "the cache directory $cache cannot be made; WORLDWISE_CACHE names another"
	[ -w "$cache" ] || die "the cache $cache cannot be written; WORLDWISE_CACHE=DIRECTORY names another one"
	(
		flock 9
		[ -e "$environment/complete" ] && [ -x "$python" ] && exit 0
		say "making the Python environment in $environment"
		rm -rf "$environment"
		cd /
		# Unpacking pip takes as long as all of a run's packages, and no run needs it.
		if [ "$1" = run ] && find_pip; then
			"$host_python" -I -m venv --without-pip "$environment" && install_halves
		else
			"$host_python" -I -m venv "$environment" && install_with -m pip install -r "$first"
		fi && : >"$environment/complete"
	) 9>"$cache/venv.lock" || die "the Python environment could not be made (see above); start again to try again"
	leave_notes "$1"
}

# Each start would ask Python for its version, which takes tenths of a second where a version manager has it, and the
# system for libseccomp. So a start that found all there leaves two notes in the environment: its requirements, and
# under which PATH they were met by which Python, by device, inode, size and times.

# What the second note says of a start with the environment $1.
state_of() {
	printf '%s\n' "$PATH" "${WORLDWISE_PYTHON:-}"
	stat -L -c '%d %i %s %Y %Z' "$1/bin/python"
}

# Sets `python` to that of an environment of requirements/$1.txt whose notes hold; fails if there is none.
find_noted() {
	find_cache
	for program in mmdebstrap bwrap apt-get dpkg-deb flock; do
		have "$program" || return 1
	done
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || return 1
	for note in "$cache"/venv-*/noted; do
		environment=${note%/*}
		if [ -e "$environment/complete" ] && [ -x "$environment/bin/python" ] &&
			whole_requirements "$1" | cmp -s - "$environment/requirements" &&
			[ "$(cat "$note")" = "$(state_of "$environment")" ]; then
			python=$environment/bin/python
			return 0
		fi
	done
	return 1
}

# Leaves the notes of an environment of requirements/$1.txt. Without them the next start looks at all again.
leave_notes() {
	{
		whole_requirements "$1" >"$environment/requirements.$$" && state_of "$environment" >"$environment/noted.$$" &&
			mv -f "$environment/requirements.$$" "$environment/requirements" &&
			mv -f "$environment/noted.$$" "$environment/noted"
	} 2>/dev/null || :
}

# pip has its own names for the certificate authorities; a host that names one file means pip too.
export_certificates() {
	[ -n "${SSL_CERT_FILE:-}" ] || return 0
	: "${PIP_CERT:=$SSL_CERT_FILE}" "${REQUESTS_CA_BUNDLE:=$SSL_CERT_FILE}"
	export PIP_CERT REQUESTS_CA_BUNDLE
}

export_modules() {
	export PYTHONPATH="$repository/src"
}

# All of it: packages, certificates, environment.
prepare_host() {
	export_certificates
	case ${WORLDWISE_TEST:-}:${WORLDWISE_WITH:-} in
	1:*) ;;
	*:) find_noted run && export_modules && return ;;
	*:dask) find_noted dask && export_modules && return ;;
	esac
	find_missing
	[ -z "$missing" ] || install_missing
	case ${WORLDWISE_TEST:-}:${WORLDWISE_WITH:-} in
	1:*)
		install_missing_of_tests
		make_environment test
		;;
	*:) make_environment run ;;
	*:dask) make_environment dask ;;
	*) die "WORLDWISE_WITH=$WORLDWISE_WITH: the one thing that can be asked for is dask, for \`run --on\`" ;;
	esac
	export_modules
}
