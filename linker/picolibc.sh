#!/bin/sh
# Builds picolibc for the image.
#
# usage: picolibc.sh BUILD_DIR CC "CODEGEN FLAGS"
#
# The result is BUILD_DIR/picolibc/{include,lib}. The source is PICOLIBC_SRC if that is set,
# otherwise the package pinned in picolibc.txt, which pip checks against its sha256.
set -eu

build=$1
cc=$2
flags=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$build"
build=$(cd "$build" && pwd)
work=$build/picolibc-build
log=$build/picolibc.log

fail() {
    echo "picolibc: $1 (see $log)" >&2
    exit 1
}

fetch_source() {
    if [ ! -x "$build/fetch/bin/pip" ]; then
        python3 -m venv "$build/fetch" || fail "python3 -m venv failed"
    fi
    "$build/fetch/bin/pip" download --quiet --no-deps --require-hashes --only-binary=:all: \
        --dest "$work" --requirement "$here/picolibc.txt" >>"$log" 2>&1 ||
        fail "the pinned package could not be fetched; PICOLIBC_SRC=dir names a source tree to use"
    python3 -m zipfile -e "$work"/pythondata_software_picolibc-*.whl "$work/wheel"
    source=$work/wheel/pythondata_software_picolibc/data
}

# The flags as a meson list: 'a', 'b'
meson_list() {
    list=
    for flag in "$@"; do
        list="$list${list:+, }'$flag'"
    done
    echo "$list"
}

write_cross_file() {
    # shellcheck disable=SC2086 # the flags are words
    args=$(meson_list $flags)
    cat >"$work/cross.ini" <<END
[binaries]
c = '$cc'
ar = 'ar'
as = 'as'
ld = 'ld'
strip = 'strip'

[host_machine]
system = 'none'
cpu_family = 'x86_64'
cpu = 'x86_64'
endian = 'little'

[properties]
skip_sanity_check = true

[built-in options]
c_args = [$args]
END
}

if [ -n "${PICOLIBC_SRC:-}" ] && [ ! -f "$PICOLIBC_SRC/meson.build" ]; then
    echo "picolibc: PICOLIBC_SRC=$PICOLIBC_SRC is not a source tree: it has no meson.build" >&2
    exit 1
fi
rm -rf "$work" "$build/picolibc"
mkdir -p "$work"
: >"$log"
if [ -n "${PICOLIBC_SRC:-}" ]; then
    source=$(cd "$PICOLIBC_SRC" && pwd)
else
    fetch_source
fi
write_cross_file

# Thread-local storage would be reached through FS, whose base belongs to the firmware.
meson setup "$work/out" "$source" --cross-file "$work/cross.ini" \
    --prefix "$build/picolibc" --includedir include --libdir lib --buildtype plain \
    -Dmultilib=false -Dpicolib=false -Dpicocrt=false -Dsemihost=false -Dspecsdir=none \
    -Dtests=false -Dformat-default=double -Dio-long-long=true -Dnewlib-global-errno=true \
    -Dthread-local-storage=false >>"$log" 2>&1 || fail "meson setup failed"
ninja -C "$work/out" install >>"$log" 2>&1 || fail "the build failed"
echo "picolibc: built into $build/picolibc"
