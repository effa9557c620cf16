#!/bin/sh
# Makes the code objects of this folder with LLVM 15 (Debian packages clang-15, lld-15, llvm-15, rocm-device-libs). They are in
# the repository, so that building and testing Lanewise needs no GPU compiler.
set -eu
cd "$(dirname "$0")"
libs=${ROCM_DEVICE_LIBS:-/usr/lib/x86_64-linux-gnu/amdgcn/bitcode}
target=amdgcn-amd-amdhsa

# The pass that turns printf into stores loses its calls unless pointers have types (mended in LLVM 16); Debian's libraries
# can only be linked where they have none.
compile() { # TARGET LEVEL
  clang-15 -x cl -cl-std=CL1.2 -target $target -mcpu="$1" "-$2" -nogpulib -Xclang -no-opaque-pointers \
    -Xclang -disable-llvm-passes -emit-llvm -c opencl_printf.cl -o typed.bc
  opt-15 -opaque-pointers=0 -passes=amdgpu-printf-runtime-binding typed.bc -o stores.bc
  opt-15 -opaque-pointers=1 stores.bc -o kernel.bc
  llvm-link-15 --only-needed --internalize kernel.bc "$libs/opencl.bc" "$libs/ockl.bc" "$libs/oclc_abi_version_400.bc" \
    "$libs/oclc_isa_version_${1#gfx}.bc" "$libs/oclc_wavefrontsize64_on.bc" -o linked.bc
  opt-15 -passes=globaldce linked.bc -o needed.bc
  clang-15 -x ir -target $target -mcpu="$1" "-$2" -nogpulib -c needed.bc -o kernel.o
  ld.lld-15 -shared --no-undefined kernel.o -o "opencl_printf.$1.$2.co"
  llvm-objcopy-15 --remove-section .comment "opencl_printf.$1.$2.co"
  chmod 644 "opencl_printf.$1.$2.co"
  rm typed.bc stores.bc kernel.bc linked.bc needed.bc kernel.o
}
compile gfx600 O3
compile gfx803 O0
compile gfx906 O0
compile gfx906 O3
