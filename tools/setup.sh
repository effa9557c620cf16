# Sourced by tools/test and tools/demo: what both need to do before they can start. Not a command of its own.

# What building and testing takes, by its Debian 12 names. Of GPU software only the headers that hsa/ implements.
readonly packages=(g++ cmake ninja-build libasmjit-dev libxbyak-dev libtbb-dev libcli11-dev libfmt-dev
                   nlohmann-json3-dev libzydis-dev libgtest-dev libbenchmark-dev libpng-dev zlib1g-dev
                   libhsa-runtime-dev)

die() { echo "${0##*/}: $*" >&2; exit 2; }

say() {
  if [[ -t 1 ]]; then printf '\033[1m==> %s\033[0m\n' "$*"; else printf '==> %s\n' "$*"; fi
}

# Installs the packages that are missing, and only those: with all present neither root nor a network is needed.
install_missing() {
  if ! command -v dpkg-query > /dev/null; then
    say "Not a Debian system: expecting the equivalents of ${packages[*]}"
    return
  fi
  local missing=() package
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo > /dev/null || die "missing packages: ${missing[*]}; install them, or run this as root"
    as_root=(sudo)
  fi
  say "Installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq < /dev/null
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" < /dev/null > /dev/null
}

# configure_and_build PRESET [TARGET...]
configure_and_build() {
  local preset=$1 targets=()
  shift
  (($#)) && targets=(--target "$@")
  say "Configuring ($preset)"
  cmake --preset "$preset" > "/tmp/lanewise-configure-$$.log" 2>&1 || {
    cat "/tmp/lanewise-configure-$$.log" >&2
    rm -f "/tmp/lanewise-configure-$$.log"
    die "cmake could not configure the build; see above"
  }
  rm -f "/tmp/lanewise-configure-$$.log"
  say "Building ($preset, $(nproc) at a time)"
  cmake --build --preset "$preset" -j "$(nproc)" "${targets[@]}"
}
