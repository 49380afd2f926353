#!/bin/sh
# What the project needs of the machine, by Debian's package names.
#
# usage: packages.sh check|install GROUP...     groups: build image run hosted test lint
#
# check names what is missing in one line and fails; install installs it with apt-get, as root or
# through sudo, and where that cannot be done names it likewise.
set -eu

# group, package, and what shows that it is there: a command, a file, or a Python module
packages() {
    cat <<'END'
build   gcc             command gcc
build   binutils        command ld
build   gnu-efi         file    /usr/lib/crt0-efi-x86_64.o
build   meson           command meson
build   ninja-build     command ninja
build   python3         command python3
build   python3-venv    module  ensurepip
image   mtools          command mcopy
image   gdisk           command sgdisk
run     qemu-system-x86 command qemu-system-x86_64
run     ovmf            file    /usr/share/OVMF/OVMF_CODE_4M.fd
hosted  libc6-dev       file    /usr/include/stdio.h
hosted  libcjson-dev    file    /usr/include/cjson/cJSON.h
test    libcmocka-dev   file    /usr/include/cmocka.h
test    valgrind        command valgrind
lint    clang-format    command clang-format
lint    clang-tidy      command clang-tidy
lint    cppcheck        command cppcheck
lint    shellcheck      command shellcheck
END
}

present() {
    case $1 in
    command) command -v "$2" >/dev/null 2>&1 ;;
    file) [ -e "$2" ] ;;
    module) python3 -c "import $2" 2>/dev/null ;;
    esac
}

# The missing packages of the named groups, on one line.
missing() {
    packages | while read -r group package kind what; do
        case " $* " in
        *" $group "*) present "$kind" "$what" || printf '%s ' "$package" ;;
        esac
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

can_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    [ "$(id -u)" = 0 ] && return 0
    command -v sudo >/dev/null 2>&1 || return 1
    # With nobody to type a password, sudo must work without one.
    [ -t 0 ] || sudo -n true 2>/dev/null
}

name_missing() {
    echo "ironchase: please install (names as in Debian): $1" >&2
    exit 1
}

action=$1
shift
wanted=$(missing "$@")
wanted=${wanted% }
[ -n "$wanted" ] || exit 0
if [ "$action" != install ] || ! can_install; then
    name_missing "$wanted"
fi

echo "ironchase: installing $wanted"
log=$(mktemp)
# shellcheck disable=SC2086 # the packages are words
if ! { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive apt-get install \
    --yes --no-install-recommends $wanted; } >"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    name_missing "$wanted"
fi
rm -f "$log"
wanted=$(missing "$@")
[ -z "$wanted" ] || name_missing "${wanted% }"
